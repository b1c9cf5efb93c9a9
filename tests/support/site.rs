//! A local web server with a handler per test, with or without TLS, which records request heads.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection to write the response to.
pub trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

pub struct Site {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<Connections>>,
}

/// Number of connections so far, and of open ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Connections {
    pub all: usize,
    pub open: usize,
}

impl Site {
    /// Calls `answer` with the head of a request and its connection, which is closed afterwards.
    pub fn start(answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(None, once(answer))
    }

    /// Keeps a connection open for further requests while `answer` returns true.
    pub fn keep_alive(answer: impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static) -> Self {
        Self::listen(None, answer)
    }

    /// The same over TLS.
    pub fn keep_alive_with_tls(
        config: ServerConfig,
        answer: impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static,
    ) -> Self {
        Self::listen(Some(Arc::new(config)), answer)
    }

    /// The same over TLS.
    pub fn with_tls(config: ServerConfig, answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(Some(Arc::new(config)), once(answer))
    }

    /// Serves one page at every path.
    pub fn page(kind: &'static str, body: &'static str) -> Self {
        Self::start(move |_, connection| write(connection, "200 OK", &format!("Content-Type: {kind}\r\n"), body))
    }

    fn listen(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let shared = heads.clone();
        let connections = Arc::new(Mutex::new(Connections::default()));
        let counted = connections.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), tls, seen, answer) = (stream, tls.clone(), shared.clone(), answer.clone()) else {
                    continue;
                };
                let counted = counted.clone();
                std::thread::spawn(move || {
                    count(&counted, |connections| {
                        connections.all += 1;
                        connections.open += 1;
                    });
                    let closing = stream.try_clone();
                    let mut connection = open(stream, tls);
                    // A failed TLS handshake ends the loop.
                    while let Some(head) = head(&mut *connection) {
                        seen.lock().expect("no panic").push(head.clone());
                        if !answer(&head, &mut *connection) {
                            break;
                        }
                    }
                    drop(connection);
                    let _ = closing.map(|stream| close(&stream));
                    count(&counted, |connections| connections.open -= 1);
                });
            }
        });
        Self { port, heads, connections }
    }

    /// Its connections, once exactly `open` are open, or after ten seconds.
    pub fn connections(&self, open: usize) -> Connections {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let connections = *self.connections.lock().expect("no panic");
            if connections.open == open || Instant::now() > until {
                return connections;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The URL of a path on it.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The configuration line that grants all of it.
    pub fn grant(&self) -> String {
        format!("http = [{{ url = \"{}\", private = true }}]\n", self.url(""))
    }

    /// The request heads so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

/// Closes the connection after one response.
fn once(
    answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static,
) -> impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static {
    move |head, connection| {
        answer(head, connection);
        false
    }
}

fn count(connections: &Mutex<Connections>, change: impl FnOnce(&mut Connections)) {
    change(&mut connections.lock().expect("no panic"));
}

fn open(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Box<dyn Connection> {
    match tls {
        None => Box::new(stream),
        Some(config) => {
            Box::new(StreamOwned::new(ServerConnection::new(config).expect("a valid configuration"), stream))
        }
    }
}

/// Ends a connection after its response. One that is closed while bytes are unread, such as a request's body, is
/// reset, and that may overtake the response.
fn close(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let _ = std::io::copy(&mut stream.take(1 << 20), &mut std::io::sink());
}

/// Writes the last response of a connection; errors are ignored.
pub fn write(connection: &mut dyn Connection, status: &str, fields: &str, body: &str) {
    write_one(connection, status, &format!("{fields}Connection: close\r\n"), body);
}

/// Writes a response; false if that fails.
pub fn write_one(connection: &mut dyn Connection, status: &str, fields: &str, body: &str) -> bool {
    let length = body.len();
    let whole = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    connection.write_all(whole.as_bytes()).and_then(|()| connection.flush()).is_ok()
}

/// The value of a header field of a request head.
pub fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn head(connection: &mut dyn Connection) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

//! A web site on this machine: it answers each request as the test says, over TLS or not, and
//! remembers what it was asked.
//! It knows no more of HTTP than where a head ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection that the answer is written to.
pub trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

pub struct Site {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<Connections>>,
}

/// How many there were, and how many of them are open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Connections {
    pub all: usize,
    pub open: usize,
}

impl Site {
    /// `answer` is given the head of each request and its connection, which ends with it.
    pub fn start(answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(None, once(answer))
    }

    /// One that goes on with a connection for as long as `answer` is true.
    pub fn keeping(answer: impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static) -> Self {
        Self::listen(None, answer)
    }

    /// The same over TLS.
    pub fn keeping_with_tls(
        config: ServerConfig,
        answer: impl Fn(&str, &mut dyn Connection) -> bool + Clone + Send + 'static,
    ) -> Self {
        Self::listen(Some(Arc::new(config)), answer)
    }

    /// The same over TLS.
    pub fn with_tls(config: ServerConfig, answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(Some(Arc::new(config)), once(answer))
    }

    /// One page, whatever is asked for.
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
                    let mut connection = open(stream, tls);
                    // Nothing comes of a handshake that failed.
                    while let Some(head) = head(&mut *connection) {
                        seen.lock().expect("no panic").push(head.clone());
                        if !answer(&head, &mut *connection) {
                            break;
                        }
                    }
                    count(&counted, |connections| connections.open -= 1);
                });
            }
        });
        Self { port, heads, connections }
    }

    /// Its connections, once so many are open and no more, or after ten seconds.
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

    /// The root of it, by the address of this machine.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The grant for all of it in the configuration.
    pub fn granted(&self) -> String {
        format!("http = [{{ url = \"{}\", private = true }}]\n", self.url(""))
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

/// An answer after which the connection ends.
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

/// The last response of a connection, with that body; nobody has to read it.
pub fn write(connection: &mut dyn Connection, status: &str, fields: &str, body: &str) {
    write_one(connection, status, &format!("{fields}Connection: close\r\n"), body);
}

/// A response with that body, and whether it could be written.
pub fn write_one(connection: &mut dyn Connection, status: &str, fields: &str, body: &str) -> bool {
    let length = body.len();
    let whole = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    connection.write_all(whole.as_bytes()).and_then(|()| connection.flush()).is_ok()
}

/// What that field of a request's head says.
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

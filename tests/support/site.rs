//! A web site on this machine: it answers each request as the test says, over TLS or not, and
//! remembers what it was asked.
//! It knows no more of HTTP than where a head ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection that the answer is written to.
pub trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

pub struct Site {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// `answer` is given the head of each request and its connection, which ends with it.
    pub fn start(answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(None, answer)
    }

    /// The same over TLS.
    pub fn with_tls(config: ServerConfig, answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static) -> Self {
        Self::listen(Some(Arc::new(config)), answer)
    }

    /// One page, whatever is asked for.
    pub fn page(kind: &'static str, body: &'static str) -> Self {
        Self::start(move |_, connection| write(connection, "200 OK", &format!("Content-Type: {kind}\r\n"), body))
    }

    fn listen(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&str, &mut dyn Connection) + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let shared = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), tls, seen, answer) = (stream, tls.clone(), shared.clone(), answer.clone()) else {
                    continue;
                };
                std::thread::spawn(move || {
                    let mut connection = open(stream, tls);
                    // Nothing comes of a handshake that failed.
                    let Some(head) = head(&mut *connection) else { return };
                    seen.lock().expect("no panic").push(head.clone());
                    answer(&head, &mut *connection);
                });
            }
        });
        Self { port, heads }
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

fn open(stream: TcpStream, tls: Option<Arc<ServerConfig>>) -> Box<dyn Connection> {
    match tls {
        None => Box::new(stream),
        Some(config) => {
            Box::new(StreamOwned::new(ServerConnection::new(config).expect("a valid configuration"), stream))
        }
    }
}

/// A response with that body; nobody has to read it.
pub fn write(connection: &mut dyn Connection, status: &str, fields: &str, body: &str) {
    let length = body.len();
    let whole = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {length}\r\n\r\n{body}");
    let _ = connection.write_all(whole.as_bytes()).and_then(|()| connection.flush());
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

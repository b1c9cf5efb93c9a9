//! A raw TCP server: it responds on each connection as the test defines, and records the heads of
//! requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(super) struct Server {
    pub(super) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<Connections>>,
}

/// How many connections there were, and how many the client has not closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Connections {
    pub(super) all: usize,
    pub(super) open: usize,
}

impl Server {
    /// `answer` gets each connection after the head of its request.
    pub(super) fn start(answer: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        Self::keep_alive(move |_, stream| {
            stream.try_clone().map(&answer).expect("a connection");
            false
        })
    }

    /// A server that keeps a connection open as long as `answer` returns true. `answer` gets the
    /// number of the connection's request, from 1, and the connection after that request's head.
    pub(super) fn keep_alive(answer: impl Fn(usize, &mut TcpStream) -> bool + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        let connections = Arc::new(Mutex::new(Connections::default()));
        let counted = connections.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(mut stream), seen, answer) = (stream, seen.clone(), answer.clone()) else { continue };
                let counted = counted.clone();
                {
                    let mut connections = counted.lock().expect("no panic");
                    *connections = Connections { all: connections.all + 1, open: connections.open + 1 };
                }
                std::thread::spawn(move || {
                    for request in 1.. {
                        let head = head(&stream);
                        if request > 1 && head.is_empty() {
                            break;
                        }
                        seen.lock().expect("no panic").push(head);
                        if !answer(request, &mut stream) {
                            break;
                        }
                    }
                    counted.lock().expect("no panic").open -= 1;
                });
            }
        });
        Self { port, heads, connections }
    }

    /// Waits until that many connections are open.
    pub(super) async fn settled(&self, open: usize) -> Connections {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let connections = *self.connections.lock().expect("no panic");
            if connections.open == open || Instant::now() > until {
                return connections;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// How many connections there were.
    pub(super) fn connections(&self) -> usize {
        self.connections.lock().expect("no panic").all
    }

    /// A server that always sends this response.
    pub(super) fn responding(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |mut stream| drop(stream.write_all(&response)))
    }

    /// The heads of requests since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.heads.lock().expect("no panic"))
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://api.example:{}{path}", self.port)
    }
}

/// Reads a request's head, not its body.
fn head(mut stream: &TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

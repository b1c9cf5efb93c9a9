//! A server of raw bytes: it answers each connection as the test says, and remembers the heads
//! of requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(super) struct Server {
    pub(super) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets each connection after the head of its request.
    pub(super) fn start(answer: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), seen, answer) = (stream, seen.clone(), answer.clone()) else { continue };
                std::thread::spawn(move || {
                    seen.lock().expect("no panic").push(head(&stream));
                    answer(stream);
                });
            }
        });
        Self { port, heads }
    }

    /// One that always gives this.
    pub(super) fn giving(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |mut stream| drop(stream.write_all(&response)))
    }

    /// The heads of requests since this was last asked.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.heads.lock().expect("no panic"))
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://api.example:{}{path}", self.port)
    }
}

/// A request without its body, which is left to be read.
fn head(mut stream: &TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

//! The connection to a host under attack: stdio, or HTTP with a connection per message, so that no
//! message waits for the answer to another.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, listening_address};
use crate::support::process::{Process, command};
use crate::support::streamable::Endpoint;
use crate::support::wire::{Received, Wire};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
    /// Over stdio, with each plugin in a process of its own.
    Process,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Process];

    pub(crate) fn is_http(self) -> bool {
        self == Self::Http
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Process => "process",
        }
    }
}

pub(crate) struct Host {
    pub(crate) process: Process,
    posts: Option<Posts>,
}

/// Tokens over HTTP, for rows that configure them: the bystander's caller is Bob.
pub(crate) const ALICE: &str = "alice-alice-alice-alice-alice-alice";
pub(crate) const BOB: &str = "bob-bob-bob-bob-bob-bob-bob-bob-bob";

/// How the host is started.
#[derive(Default)]
pub(crate) struct Start {
    /// Options for either transport.
    pub(crate) options: Vec<String>,
    /// Whether HTTP+SSE is enabled.
    pub(crate) sse: bool,
    /// The token of the bystander's caller.
    pub(crate) token: Option<&'static str>,
}

struct Posts {
    endpoint: Endpoint,
    token: Option<&'static str>,
    /// `None` once closed.
    sender: Option<Sender<String>>,
    messages: Receiver<String>,
    /// Connections with open event streams.
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Host {
    /// Serves that home, with a secret in its environment.
    pub(crate) fn start(home: &Home, transport: Transport, start: &Start) -> Self {
        let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
        command.env("SECRET", "password").env("ALICE", ALICE).env("BOB", BOB).args(&start.options);
        if !transport.is_http() {
            return Self { process: Process::start(command), posts: None };
        }
        let process = Process::start({
            command.args(["--http", "127.0.0.1:0"]).args(start.sse.then_some("--sse"));
            command
        });
        let (sender, messages) = channel();
        let endpoint = Endpoint::new(listening_address(&process));
        let posts = Posts { endpoint, token: start.token, sender: Some(sender), messages, streams: Arc::default() };
        Self { process, posts: Some(posts) }
    }

    /// The address on which it listens over HTTP.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.posts.as_ref().map(|posts| posts.endpoint.address)
    }

    /// Sends arbitrary text; over HTTP with these headers.
    pub(crate) fn send_raw(&mut self, text: &str, headers: &[(&str, &str)]) {
        let Some(posts) = &self.posts else {
            return self.process.send(text);
        };
        let request = Request::new("POST", "/mcp", posts.endpoint.address)
            .with("Accept", "application/json, text/event-stream")
            .json(text);
        posts.send_request(headers.iter().fold(request, |request, (name, value)| request.with(name, value)));
    }

    /// Sends a health check, which no plugin handles; the answer is received as a message with that id.
    pub(crate) fn probe(&mut self, id: u64) {
        let Some(posts) = &self.posts else {
            return self.process.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        };
        let (address, sender) = (posts.endpoint.address, posts.sender.clone().expect("not closed by the test"));
        std::thread::spawn(move || {
            let mut connection = HttpConnection::connect(address);
            connection.send(&Request::new("GET", "/healthz", address).bytes());
            if connection.response().is_some_and(|response| response.status == 200) {
                let _ = sender.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
            }
        });
    }

    /// Whether stdout is empty, as it must be while HTTP is served.
    pub(crate) fn stdout_is_silent(&mut self) -> bool {
        self.posts.is_none() || self.process.receive(Duration::ZERO) == Received::TimedOut
    }
}

impl Wire for Host {
    fn send(&mut self, frame: &str) {
        match &self.posts {
            None => self.process.send(frame),
            Some(posts) => posts.post(frame),
        }
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        let Some(posts) = &self.posts else {
            return self.process.receive(time_limit);
        };
        match posts.messages.recv_timeout(time_limit) {
            Ok(message) => Received::Frame(message),
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::TimedOut,
        }
    }

    fn close(&mut self) {
        match &mut self.posts {
            None => self.process.close(),
            Some(posts) => {
                posts.sender = None;
                for stream in posts.streams.lock().expect("no panic").drain(..) {
                    // The host may have closed first.
                    let _ = stream.shutdown(Shutdown::Both);
                }
            }
        }
    }
}

impl Posts {
    /// Posts a frame; its answer is a body or a stream.
    fn post(&self, frame: &str) {
        self.send_request(self.endpoint.post_text(frame));
    }

    fn send_request(&self, mut request: Request) {
        if let Some(token) = self.token {
            request = request.with("Authorization", &format!("Bearer {token}"));
        }
        let (address, sender) = (self.endpoint.address, self.sender.clone().expect("not closed by the test"));
        let streams = Arc::clone(&self.streams);
        std::thread::spawn(move || {
            let mut connection = HttpConnection::connect(address);
            connection.send(&request.bytes());
            // `None` if the host has exited, which the row detects itself.
            let Some(response) = connection.response() else { return };
            if response.header("content-type") == Some("text/event-stream") {
                streams.lock().expect("no panic").push(connection.stream().try_clone().expect("a socket"));
                let mut events = Events::from_response(connection, response);
                while let Some(event) = events.next_message() {
                    let _ = sender.send(event.data);
                }
            } else if !response.body.is_empty() {
                let _ = sender.send(response.text().to_owned());
            }
        });
    }
}

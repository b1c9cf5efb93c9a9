//! A wire over HTTP+SSE: one stream for all messages of the server, and an endpoint to post to.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::support::events::Events;
use crate::support::http::{HttpConnection, Request};
use crate::support::wire::{Received, Wire};

pub(super) struct Sse {
    host: SocketAddr,
    endpoint: String,
    messages: Receiver<String>,
    socket: TcpStream,
}

impl Sse {
    pub(super) fn connect(host: SocketAddr) -> Self {
        let get = Request::new("GET", "/sse", host).with("Accept", "text/event-stream");
        let mut events = Events::open(HttpConnection::connect(host), &get);
        let endpoint = events.next_event().expect("an endpoint").data;
        let socket = events.connection.stream().try_clone().expect("a socket");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(event) = events.next_message() {
                if sender.send(event.data).is_err() {
                    return;
                }
            }
        });
        Self { host, endpoint, messages, socket }
    }
}

impl Wire for Sse {
    fn send(&mut self, frame: &str) {
        let taken =
            HttpConnection::connect(self.host).exchange(&Request::new("POST", &self.endpoint, self.host).json(frame));
        assert_eq!((taken.status, taken.text()), (202, ""), "{frame}");
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        match self.messages.recv_timeout(time_limit) {
            Ok(message) => Received::Frame(message),
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::TimedOut,
        }
    }

    fn close(&mut self) {
        // The host may have closed first.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

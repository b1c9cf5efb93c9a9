//! A stream of server-sent events.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value;

use super::TIMEOUT;
use super::http::{HttpConnection, Request, Response};

pub struct Events<S = TcpStream> {
    pub connection: HttpConnection<S>,
    pub response: Response,
    /// Received and not yet parsed.
    buffer: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub id: Option<String>,
    pub kind: Option<String>,
    pub data: String,
}

impl Event {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }
}

impl<S: Read + Write> Events<S> {
    /// Sends a request, and reads its response as a stream.
    ///
    /// # Panics
    /// If the response is not a stream.
    pub fn open(mut connection: HttpConnection<S>, request: &Request) -> Self {
        let response = connection.exchange(request);
        Self::from_response(connection, response)
    }

    /// The stream of a response whose head has been read.
    pub fn from_response(connection: HttpConnection<S>, response: Response) -> Self {
        let is_stream = response.header("content-type") == Some("text/event-stream");
        assert!(response.status == 200 && is_stream, "no stream: {response:?}, {}", response.text());
        Self { connection, response, buffer: String::new() }
    }

    /// The next event with data; events without data carry only an id.
    pub fn next_message(&mut self) -> Option<Event> {
        std::iter::from_fn(|| self.next_event()).find(|event| !event.data.is_empty())
    }

    /// The next event, also without data. `None` at the end of the stream.
    pub fn next_event(&mut self) -> Option<Event> {
        let begun = Instant::now();
        loop {
            // Keep-alive comments never end.
            assert!(begun.elapsed() < TIMEOUT, "no event and no end");
            let Some((block, rest)) = self.buffer.split_once("\n\n") else {
                self.buffer += std::str::from_utf8(&self.connection.chunk()?).expect("UTF-8");
                continue;
            };
            let mut event = Event::default();
            let mut is_event = false;
            for line in block.lines() {
                let (name, value) = line.split_once(':').expect("a field");
                is_event |= !name.is_empty();
                match (name, value.trim_start_matches(' ')) {
                    ("id", value) => event.id = Some(value.to_owned()),
                    ("event", value) => event.kind = Some(value.to_owned()),
                    ("data", value) => event.data.push_str(value),
                    // A comment, or the reconnection time.
                    ("" | "retry", _) => {}
                    other => panic!("an unexpected field: {other:?}"),
                }
            }
            self.buffer = rest.to_owned();
            if is_event {
                return Some(event);
            }
        }
    }
}

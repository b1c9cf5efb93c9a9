//! A connection that sends and receives frames.

use std::time::Duration;

/// The outcome of waiting for a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Frame(String),
    /// The host has closed the connection.
    Closed,
    /// The time limit has passed.
    TimedOut,
}

/// A transport to a host: the binary's pipes, HTTP, or the library in this process.
pub trait Wire {
    /// Sends one frame, without its newline. A closed connection is reported by [`Wire::receive`], not
    /// here.
    fn send(&mut self, frame: &str);
    fn receive(&mut self, time_limit: Duration) -> Received;
    /// Closes the sending side.
    fn close(&mut self);
}

impl<W: Wire + ?Sized> Wire for Box<W> {
    fn send(&mut self, frame: &str) {
        (**self).send(frame);
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        (**self).receive(time_limit)
    }

    fn close(&mut self) {
        (**self).close();
    }
}

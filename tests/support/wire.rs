//! One connection as the tests see it: frames out, frames in.
//! It does not know what a frame means.

use std::time::Duration;

/// What waiting for a frame ended in.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Frame(String),
    /// The other side has closed; nothing more will come.
    Closed,
    /// Nothing came in time.
    Silence,
}

/// A way to a host: the real binary's pipes, or the library in this process.
pub trait Wire {
    /// One frame, without its newline. A host that has gone away is not noticed here but by
    /// [`Wire::receive`].
    fn send(&mut self, frame: &str);
    fn receive(&mut self, patience: Duration) -> Received;
    /// No more will be sent.
    fn close(&mut self);
}

impl<W: Wire + ?Sized> Wire for Box<W> {
    fn send(&mut self, frame: &str) {
        (**self).send(frame);
    }

    fn receive(&mut self, patience: Duration) -> Received {
        (**self).receive(patience)
    }

    fn close(&mut self) {
        (**self).close();
    }
}

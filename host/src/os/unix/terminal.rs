//! The terminal of a command.

use std::io;
use std::os::fd::AsFd;

use rustix::termios::{QueueSelector, tcflush, tcgetwinsize};

/// Columns of the terminal that a stream is, if it is one and knows.
pub(crate) fn width(stream: impl AsFd) -> Option<usize> {
    tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Discards what was typed and not read yet, if stdin is a terminal.
pub(crate) fn discard_input() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

//! The terminal of a command.

use std::io;

use rustix::termios::{QueueSelector, tcflush};

/// Discards what was typed and not read yet, if stdin is a terminal.
pub(crate) fn discard_input() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

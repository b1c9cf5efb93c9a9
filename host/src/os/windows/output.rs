//! Non-blocking writes to stdout, which Windows does not support.

use std::io;

/// As on Linux.
pub(crate) const ATOMIC_WRITE: usize = 4096;

/// Unknown here, so everything is written by the thread that may block.
pub(crate) fn is_ready(_: &io::Stdout) -> bool {
    false
}

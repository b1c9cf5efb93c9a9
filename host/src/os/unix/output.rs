//! Non-blocking writes to stdout.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes that fit into any pipe that is writable (POSIX): 4096 on Linux, 512 on macOS.
pub(crate) const ATOMIC_WRITE: usize = libc::PIPE_BUF;

/// Whether [`ATOMIC_WRITE`] bytes can be written without blocking.
pub(crate) fn is_ready(stdout: &io::Stdout) -> bool {
    let mut stdout = [PollFd::new(stdout, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut stdout, Some(&now)).is_ok_and(|_| stdout[0].revents() == PollFlags::OUT)
}

//! Writing to stdout without waiting for who reads.

use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// So many bytes fit into a pipe that takes anything at all (POSIX): 4096 on Linux, 512 on macOS.
pub(crate) const AT_ONCE: usize = libc::PIPE_BUF;

/// Whether [`AT_ONCE`] bytes can be written without waiting for who reads.
pub(crate) fn is_ready(stdout: &io::Stdout) -> bool {
    let mut stdout = [PollFd::new(stdout, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut stdout, Some(&now)).is_ok_and(|_| stdout[0].revents() == PollFlags::OUT)
}

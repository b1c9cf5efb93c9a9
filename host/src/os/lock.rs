//! Locks on files between processes, with a deadline: a stopped process may hold one indefinitely.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Interval between attempts. Systems cannot wait for such a lock with a deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Locks a file for this process alone. Blocks the calling thread.
///
/// # Errors
/// [`io::ErrorKind::TimedOut`] if another process holds the lock for that long.
pub(crate) fn lock(file: &File, timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process does not release the lock"));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

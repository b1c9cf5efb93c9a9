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
    while !try_lock(file)? {
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "another process does not release the lock"));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Locks a file for this process alone, if no other one has it. Whether it did.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    tried(file.try_lock())
}

/// Locks a file for this process and others that share it, if none has it alone. Whether it did.
pub(crate) fn try_lock_shared(file: &File) -> io::Result<bool> {
    tried(file.try_lock_shared())
}

fn tried(locked: Result<(), TryLockError>) -> io::Result<bool> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

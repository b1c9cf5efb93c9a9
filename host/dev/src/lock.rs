//! Lock files. A lock is held until the file is closed, or the process ends in any way.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use wharf_report::{Failure, ShowPath as _};

use crate::{files, os};

pub(crate) enum Attempt {
    Held(File),
    /// By another process.
    Taken(File),
}

/// Creates the file, and its folder, if they do not exist.
///
/// # Errors
/// If the file cannot be created or locked.
pub(crate) fn try_lock(path: &Path) -> Result<Attempt, Failure> {
    let failed = |error: io::Error| Failure::new(format!("lock {}: {error}", path.shown()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = os::open_or_create(path).map_err(failed)?;
    files::require_regular(&file).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Attempt::Held(file)),
        Err(TryLockError::WouldBlock) => Ok(Attempt::Taken(file)),
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Attempt::Held(file)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

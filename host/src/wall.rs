//! What the kernel takes away from a process that has no need of it, for the day when a bug
//! lets a plugin out of its sandbox.
//!
//! Knows paths and system calls, not what they are for. Nothing here can be given back.

#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;

#[cfg(target_os = "linux")]
pub use calls::only_compute;
#[cfg(target_os = "linux")]
pub use files::{keeps_from, no_files, only_files};

#[cfg(not(target_os = "linux"))]
use std::path::Path;
use std::path::PathBuf;

/// What stays open, with all that is below. A path that is not there is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub read: Vec<PathBuf>,
    /// Read, change, make and remove.
    pub write: Vec<PathBuf>,
    /// Read and start.
    pub execute: Vec<PathBuf>,
    /// Folders to make sockets in, and remove them.
    pub sockets: Vec<PathBuf>,
}

/// Whether a wall, and not its mode, keeps this process from reading or writing a folder.
#[cfg(not(target_os = "linux"))]
pub fn keeps_from(_folder: &Path, _to_write: bool) -> bool {
    false
}

/// How much of a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Whole,
    /// The kernel is older than the wall, and knows some of it.
    Partly,
    /// The kernel does not know it, or it is switched off there.
    Not,
}

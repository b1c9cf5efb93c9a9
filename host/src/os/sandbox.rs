//! What the kernel takes away from a process that has no need of it, for the day when a bug
//! lets a plugin out of its sandbox.
//!
//! Knows paths and system calls, not what they are for. Nothing here can be given back.

use std::path::PathBuf;

pub(crate) use super::system::sandbox::{MISSING, of_every_program};
pub use super::system::sandbox::{keeps_from, no_files, only_compute, only_files};

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

/// How much of a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Whole,
    /// The kernel is older than the wall, and knows some of it.
    Partly,
    /// The kernel does not know it, or it is switched off there.
    Not,
}

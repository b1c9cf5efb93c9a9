//! The OS sandbox: the kernel restricts a process to the files and system calls that it needs, as a
//! second line of defence against a plugin that escapes from its sandbox.
//!
//! It knows paths and system calls, not what they are for. Restrictions cannot be lifted again.

use std::path::PathBuf;

pub(crate) use super::system::sandbox::UNSUPPORTED;
pub use super::system::sandbox::{
    denies, deny_files, deny_syscalls, filter_syscalls, restrict_files, restrict_to, system_paths,
};

/// The paths that stay accessible, with everything below them. Missing paths are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedPaths {
    pub read: Vec<PathBuf>,
    /// Read, change, create and remove.
    pub write: Vec<PathBuf>,
    /// Read and execute.
    pub execute: Vec<PathBuf>,
    /// Folders in which sockets can be created and removed.
    pub sockets: Vec<PathBuf>,
}

/// How much of a restriction the kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    Full,
    /// An older kernel that supports only a part.
    Partial,
    /// The kernel does not support it, or it is disabled there.
    None,
}

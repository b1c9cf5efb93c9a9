//! Differences between operating systems: safe opening of files that others may have created, process
//! limits, signals, Unix sockets, and the OS sandbox.
//!
//! No other module names `rustix`, `libc` or types of one system. `linux`, `macos` (both with `unix`)
//! and `windows` have the same functions; the other files here use them as `system`.

pub(crate) mod changes;
pub(crate) mod entries;
pub(crate) mod files;
pub(crate) mod lock;
pub(crate) mod paths;
pub(crate) mod private;
pub mod sandbox;
pub(crate) mod signals;
pub(crate) mod sockets;
pub(crate) mod stamp;
pub(crate) mod usage;

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(all(unix, not(target_os = "linux")))]
use macos as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::{
    Errno, REPORTS_CLOSE, application_settings, is_removed, key_folders, limits, memory, output, process, reserve,
    sealed, service, terminal,
};

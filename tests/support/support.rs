//! What the integration tests share: the real binary in a private home, a line client, and
//! the transcript player.
//! It knows nothing of the host's own modules: what it says and reads is the wire.

pub mod client;
pub mod compare;
pub mod events;
pub mod guest;
pub mod home;
pub mod http;
pub mod memory;
pub mod play;
pub mod process;
pub mod record;
pub mod site;
pub mod streamable;
pub mod transcript;
pub mod wire;

use std::time::Duration;

/// How long a test waits for something that must happen. Long, since a loaded machine
/// compiling a guest in a debug host is no failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

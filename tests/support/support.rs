//! Shared code of the integration tests: the real binary in a temporary home, clients, plugins
//! generated from text, and the transcript player.

pub mod client;
pub mod compare;
pub mod events;
pub mod floods;
pub mod guest;
pub mod home;
pub mod http;
pub mod memory;
pub mod play;
pub mod process;
pub mod record;
pub mod schemas;
pub mod site;
pub mod streamable;
pub mod tasks;
pub mod transcript;
pub mod wire;

use std::time::Duration;

/// Time limit of each wait. Long, since a debug build on a loaded machine compiles guests slowly.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The stateless revision.
pub const MODERN: &str = "2026-07-28";

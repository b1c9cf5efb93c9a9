//! Which version of a plugin may run: the pins of earlier versions, in one file for all processes,
//! and the rules that check a version against them.
//!
//! Loads no plugins and knows no plugin folder; a surface is opaque text here.

mod approval;
mod decision;
mod file;
mod guard;
mod pin;
mod surfaces;
mod verdict;

pub use approval::ConcurrentChange;
pub use decision::{PluginVersion, Reason, Rules, Trust, decide};
pub use file::{KEY, PinFile, PinFileError};
pub use guard::{Guard, KnownPins, ListedVersion, Watch};
pub use pin::{Pin, Pins, Revocation};
pub use verdict::{AdmittedAs, Decision, approve_command};

//! Which version of a plugin may run: the pins of earlier versions, in one file for all processes,
//! and the rules that check a version against them.
//!
//! It loads nothing and knows no folder; a surface is opaque text here.

mod decision;
mod file;
mod guard;
mod pin;
mod surfaces;
mod verdict;

pub use decision::{Reason, Rules, Seen, Trust, decide};
pub use file::{Lock, LockError};
pub use guard::{Guard, Known, Version, Watch};
pub use pin::{Pin, Pins};
pub use verdict::{Decision, Outcome, approval, shell_word};

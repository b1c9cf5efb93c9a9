//! Which version of a plugin may run: what was seen and approved before, kept in one file for
//! all processes, and the rules that hold a version against it.
//!
//! It loads nothing and knows no folder; what a surface says is text to it.

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

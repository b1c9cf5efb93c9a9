//! The plugin interface's types under plain names, as the newest version has them.
//!
//! Holds no logic and names no bindgen path: each version's file does that.

mod v0_1;

pub use v0_1::types::*;
pub(in crate::plugin) use v0_1::{HostCalls, Http, HttpCalls, HttpError, TypesCalls, link};

//! The types of the newest version of the plugin interface, re-exported under plain names.
//!
//! No bindgen paths: they are in the file of each version.

mod names;
mod required;
mod v0_1;

pub use v0_1::types::*;
pub(in crate::plugin) use v0_1::{HostCalls, Http, HttpCalls, HttpError, TypesCalls, link};

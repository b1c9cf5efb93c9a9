//! The plugin interface's types under plain names, as the newest version has them.
//!
//! Holds no logic and names no bindgen path: each version's file does that.

mod v0_1;
pub(super) mod wasi_config;
pub(super) mod wasi_filesystem;
pub(super) mod wasi_http;
pub(super) mod wasi_keyvalue;

pub use v0_1::types::*;
pub(super) use v0_1::{Exports, HostCalls, Http, HttpCalls, HttpError, TypesCalls, link};

//! The ways in: bytes to frames and back.
//!
//! A transport is a function `serve`; it knows nothing of plugins.

pub mod http;
pub mod stdio;

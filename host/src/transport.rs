//! Transports: bytes to frames and back.
//!
//! A transport is a function `serve`; it does not depend on plugins.

pub mod http;
pub mod metrics;
#[cfg(feature = "page")]
pub mod page;
pub mod stdio;

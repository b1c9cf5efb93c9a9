//! Outbound connections: normalized targets, which addresses are public, name resolution, TCP and TLS,
//! and single requests of HTTP.
//!
//! Decides nothing but what an address is.

pub mod address;
pub mod dial;
pub mod http;
pub mod interim;
pub mod resolve;
pub mod target;

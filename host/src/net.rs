//! Outbound connections: normalized targets, which addresses are public, name resolution, TCP and TLS.
//!
//! Decides nothing but what an address is.

pub mod address;
pub mod dial;
pub mod resolve;
pub mod target;

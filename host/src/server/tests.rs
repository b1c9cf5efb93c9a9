//! Test doubles for this module: a plugin implemented by a closure, and a client.

pub(in crate::server) mod client;
pub(in crate::server) mod double;

//! What the tests of this floor share: a plugin that a closure plays, and its client.

pub(in crate::server) mod client;
pub(in crate::server) mod double;

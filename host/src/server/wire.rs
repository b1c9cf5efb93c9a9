//! WIT's words to the wire's, shaped for the client's revision.
//!
//! Texts that a plugin gives as JSON were checked when they left the sandbox and are passed
//! on as spelt.

mod content;
mod object;
mod tool;

pub(in crate::server) use content::Block;
pub(in crate::server) use object::Object;
pub(in crate::server) use tool::{descriptor, result};

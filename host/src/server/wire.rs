//! WIT's words to the wire's, shaped for the client's revision.
//!
//! Texts that a plugin gives as JSON were checked when they left the sandbox and are passed
//! on as spelt.

pub(in crate::server) mod answer;
pub(in crate::server) mod completion;
mod content;
mod form;
mod object;
pub(in crate::server) mod prompt;
pub(in crate::server) mod question;
pub(in crate::server) mod resource;
pub(in crate::server) mod tool;

pub(in crate::server) use content::Block;
pub(in crate::server) use object::Object;

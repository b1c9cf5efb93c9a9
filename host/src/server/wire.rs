//! WIT's words to the wire's, shaped for the client's revision.
//!
//! Texts that a plugin gives as JSON were checked when they left the sandbox and are passed
//! on as spelt.

mod content;
mod object;
mod tool;

pub use content::Block;
pub use object::Object;
pub use tool::{descriptor, result};

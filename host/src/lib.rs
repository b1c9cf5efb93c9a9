//! Project Wharf.

pub mod json;
pub mod jsonrpc;
pub mod plugin;
pub mod protocol;

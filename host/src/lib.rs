pub mod json;
pub mod jsonrpc;
pub mod protocol;

pub mod json;
pub mod jsonrpc;

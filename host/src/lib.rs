//! Project Wharf: an MCP server whose tools are sandboxed WebAssembly components.

pub mod plugin;

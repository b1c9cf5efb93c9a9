//! The fuzz targets: their seeds, and the properties that they check.

mod component;
mod config;
mod cursor;
mod headers;
mod json;
mod jsonrpc;
mod link;
mod plain;
mod sealed;
mod stdio;
mod template;
mod token;
mod tree;

/// A parser of untrusted input.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) seeds: Vec<Vec<u8>>,
    pub(crate) words: Vec<&'static str>,
    /// Panics if a property does not hold.
    pub(crate) run: fn(&[u8]),
}

pub(crate) const TARGETS: &[fn() -> Target] = &[
    stdio::target,
    jsonrpc::target,
    json::target,
    tree::target,
    cursor::target,
    sealed::target,
    headers::target,
    config::target,
    template::target,
    plain::target,
    component::target,
    link::target,
    token::target,
];

fn bytes(seeds: &[&str]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect()
}

/// Tokens of JSON and JSON-RPC.
const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\\u0061",
    "null",
    "true",
    "-",
    "0",
    "1e999",
    "-0",
    "1e-1",
    "100000000000000000000",
    "\"jsonrpc\":\"2.0\"",
    "\"id\":1",
    "\"id\":\"a\"",
    "\"method\":\"ping\"",
    "\"params\":{}",
    "\"result\":{}",
    "\"error\":{\"code\":1,\"message\":\"\"}",
    "\n",
    "\r\n",
    "\u{feff}",
    "\u{2028}",
    " ",
];

const MESSAGES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"a\u0062","method":"tools/call","params":{"name":"x","arguments":{"a":[1,2.5e3,null]}}}"#,
    r#"{"jsonrpc":"2.0","id":1e2,"method":"tools/list","params":{"cursor":"AQAAAA"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}"#,
    r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":{"a":1}}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},1]"#,
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"f","version":"1"}}}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}"#,
];

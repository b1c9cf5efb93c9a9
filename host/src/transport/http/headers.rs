//! MCP's own headers, read from those of a request.

use http::HeaderMap;

use crate::jsonrpc::ErrorObject;
use crate::server::Headers;

const PARAM_PREFIX: &str = "mcp-param-";

/// # Errors
/// If one of them comes twice with different values, or is no text.
pub(super) fn read(headers: &HeaderMap) -> Result<Headers, ErrorObject> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter().map(|value| value.to_str().map(str::trim));
        let Some(first) = values.next() else { return Ok(None) };
        match first {
            Ok(first) if values.all(|other| other.is_ok_and(|other| other == first)) => Ok(Some(first.to_owned())),
            _ => Err(Headers::unclear(name)),
        }
    };
    let mut params = Vec::new();
    for name in headers.keys() {
        if let Some(rest) = name.as_str().strip_prefix(PARAM_PREFIX)
            && let Some(value) = one(name.as_str())?
        {
            params.push((rest.to_owned(), value));
        }
    }
    Ok(Headers { version: one("mcp-protocol-version")?, method: one("mcp-method")?, name: one("mcp-name")?, params })
}

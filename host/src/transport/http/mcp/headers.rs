//! Parses the MCP headers of a request.

use http::{HeaderMap, HeaderValue};

use crate::jsonrpc::ErrorObject;
use crate::server::{Headers, TraceParent};

const PARAM_PREFIX: &str = "mcp-param-";

/// # Errors
/// If one of them is repeated or is not text. Equal values are rejected too: a proxy may use another
/// line than the server, or join them.
pub(super) fn read(headers: &HeaderMap) -> Result<Headers, ErrorObject> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next().map(HeaderValue::to_str), values.next()) {
            (None, _) => Ok(None),
            (Some(Ok(only)), None) => Ok(Some(only.trim().to_owned())),
            _ => Err(Headers::unclear(name)),
        }
    };
    // Their values are read elsewhere; here they are only checked.
    for name in ["mcp-session-id", "last-event-id"] {
        one(name)?;
    }
    let mut params = Vec::new();
    for name in headers.keys() {
        if let Some(rest) = name.as_str().strip_prefix(PARAM_PREFIX)
            && let Some(value) = one(name.as_str())?
        {
            params.push((rest.to_owned(), value));
        }
    }
    let (version, method, name) = (one("mcp-protocol-version")?, one("mcp-method")?, one("mcp-name")?);
    // W3C Trace Context, section 4.3: one that is not valid is as if there were none.
    let mut traces = headers.get_all("traceparent").iter();
    let trace = traces.next().filter(|_| traces.next().is_none()).and_then(|only| only.to_str().ok());
    // Section 3.3.1: further ones go on with the list.
    let states: Result<Vec<&str>, _> = headers.get_all("tracestate").iter().map(HeaderValue::to_str).collect();
    let with_state = |parent: TraceParent| parent.with_state(&states.unwrap_or_default().join(","));
    Ok(Headers { version, method, name, params, trace: trace.and_then(TraceParent::parse).map(with_state) })
}

//! Header fields that belong to a connection and not to a message; they are stripped.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::net::http::is_reserved;

/// Removes the fields that a plugin may not set: the host's own fields, and those that `Connection`
/// names. `length` is kept if given: it was checked against the body.
pub(in crate::plugin) fn strip(headers: &mut HeaderMap, length: Option<HeaderValue>) {
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .collect();
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_reserved(name)).cloned().chain(listed).collect();
    for name in names {
        headers.remove(name);
    }
    if let Some(length) = length {
        headers.insert(header::CONTENT_LENGTH, length);
    }
}

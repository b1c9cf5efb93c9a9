//! Grants of outbound HTTP: which requests an entry covers, and what it adds to them.

pub(in crate::plugin) mod grant;
pub(in crate::plugin) mod headers;

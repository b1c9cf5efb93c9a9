//! The members that every result of a revision has around its own.
//! What is inside them is the handler's.

use std::borrow::Cow;

use super::implementation::Implementation;
use super::meta::{SERVER_INFO, unreserved};
use super::revision::Revision;
use crate::json;

/// `resultType` (2026-07-28 basic, "Results").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultType {
    #[default]
    Complete,
    InputRequired,
}

/// Who may keep a result (2026-07-28 server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// The same for everybody.
    Public,
    Private,
}

/// For how long and by whom a complete result may be kept. Required on discover, the
/// four lists and resources/read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    pub ttl_ms: u64,
    pub scope: CacheScope,
}

impl Caching {
    /// Ask again each time: right for every list that can change at any moment.
    pub const NONE: Caching = Caching { ttl_ms: 0, scope: CacheScope::Private };
}

/// What goes around a result. `Default` suits a call that returns no list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Envelope<'a> {
    pub result_type: ResultType,
    pub caching: Option<Caching>,
    /// A checked JSON object from a plugin. Its reserved keys are left out; text that is
    /// no object is left out whole.
    pub plugin_meta: Option<&'a str>,
    /// Keys of the host's own with their JSON values.
    pub host_meta: &'a [(&'a str, &'a str)],
}

/// One result object on one line. `members` is the inside of an object, as
/// `"tools":[],"nextCursor":"x"`, or empty. Legacy results get none of what the modern
/// revision adds, since strict clients refuse it.
pub fn object(revision: Revision, server: &Implementation, members: &str, envelope: Envelope<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if revision.has_result_type() {
        parts.push(match envelope.result_type {
            ResultType::Complete => r#""resultType":"complete""#.to_owned(),
            ResultType::InputRequired => r#""resultType":"input_required""#.to_owned(),
        });
    }
    if !members.is_empty() {
        parts.push(members.to_owned());
    }
    if let Some(caching) = envelope.caching.filter(|_| revision.has_result_type()) {
        let scope = match caching.scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        parts.push(format!(r#""ttlMs":{},"cacheScope":"{scope}""#, caching.ttl_ms));
    }
    let meta = meta(revision, server, envelope);
    if !meta.is_empty() {
        parts.push(format!(r#""_meta":{{{meta}}}"#));
    }
    let object = format!("{{{}}}", parts.join(","));
    match json::single_line(&object) {
        Cow::Owned(line) => line,
        Cow::Borrowed(_) => object,
    }
}

fn meta(revision: Revision, server: &Implementation, envelope: Envelope<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(object) = envelope.plugin_meta.and_then(|meta| unreserved(revision, meta).ok()) {
        let inside = &object[1..object.len() - 1];
        if !inside.is_empty() {
            parts.push(inside.to_owned());
        }
    }
    for (key, value) in envelope.host_meta {
        parts.push(format!("{}:{value}", json::quote(key)));
    }
    if revision.is_modern() {
        parts.push(format!("{}:{}", json::quote(SERVER_INFO), server.to_json(revision)));
    }
    parts.join(",")
}

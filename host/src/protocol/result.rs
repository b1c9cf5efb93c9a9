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
    let mut object = String::with_capacity(members.len() + 256);
    object.push('{');
    if revision.has_result_type() {
        object.push_str(match envelope.result_type {
            ResultType::Complete => r#""resultType":"complete""#,
            ResultType::InputRequired => r#""resultType":"input_required""#,
        });
    }
    push(&mut object, members);
    if let Some(caching) = envelope.caching.filter(|_| revision.has_result_type()) {
        let scope = match caching.scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        push(&mut object, &format!(r#""ttlMs":{},"cacheScope":"{scope}""#, caching.ttl_ms));
    }
    let without_meta = object.len();
    push(&mut object, r#""_meta":{"#);
    let empty = object.len();
    push_meta(&mut object, revision, server, envelope);
    if object.len() == empty {
        object.truncate(without_meta);
    } else {
        object.push('}');
    }
    object.push('}');
    match json::single_line(&object) {
        Cow::Owned(line) => line,
        Cow::Borrowed(_) => object,
    }
}

/// Appends members to an object that is still open.
fn push(object: &mut String, members: &str) {
    if members.is_empty() {
        return;
    }
    if !object.ends_with('{') {
        object.push(',');
    }
    object.push_str(members);
}

fn push_meta(object: &mut String, revision: Revision, server: &Implementation, envelope: Envelope<'_>) {
    if let Some(meta) = envelope.plugin_meta.and_then(|meta| unreserved(revision, meta).ok()) {
        push(object, &meta[1..meta.len() - 1]);
    }
    for (key, value) in envelope.host_meta {
        push(object, &format!("{}:{value}", json::quote(key)));
    }
    if revision.is_modern() {
        push(object, "\"");
        object.push_str(SERVER_INFO);
        object.push_str("\":");
        server.write(revision, object);
    }
}

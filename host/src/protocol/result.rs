//! The members that every result of a revision has around its own.
//! What is inside them is the handler's.

use std::borrow::Cow;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::error::{self, ErrorObject};
use super::implementation::{Implementation, Shown};
use super::keys::SERVER_INFO;
use super::meta::unreserved;
use super::revision::Revision;
use crate::json::{self, Object, Raw};

/// `resultType` (2026-07-28 basic, "Results").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultType {
    #[default]
    Complete,
    InputRequired,
}

/// Who may keep a result (2026-07-28 server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// The same for everybody.
    Public,
    Private,
}

/// For how long and by whom a complete result may be kept. Required on discover, the
/// four lists and resources/read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caching {
    pub ttl_ms: u64,
    #[serde(rename = "cacheScope")]
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
    /// Keys of the host's own with their values.
    pub host_meta: &'a [(&'a str, Raw<'a>)],
}

/// A result without members of its own.
#[derive(Debug, Serialize)]
pub struct Empty {}

/// A result, and what its revision has around it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Enveloped<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<ResultType>,
    #[serde(flatten)]
    members: &'a T,
    #[serde(flatten)]
    caching: Option<Caching>,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    meta: Meta<'a>,
}

/// The `_meta` of a result: the plugin's keys, then the host's, then who the server is.
struct Meta<'a> {
    plugin: Object<'a>,
    host: &'a [(&'a str, Raw<'a>)],
    server: Option<Shown<'a>>,
}

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        self.plugin.is_empty() && self.host.is_empty() && self.server.is_none()
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.plugin.iter() {
            map.serialize_entry(key, value)?;
        }
        for (key, value) in self.host {
            map.serialize_entry(key, value)?;
        }
        if let Some(server) = &self.server {
            map.serialize_entry(SERVER_INFO, server)?;
        }
        map.end()
    }
}

/// One result object on one line. `members` is serialized as an object. Legacy results get none of
/// what the modern revision adds, since strict clients refuse it.
///
/// # Errors
/// If something in it that should be JSON is none.
pub fn object(
    revision: Revision,
    server: &Implementation,
    members: &impl Serialize,
    envelope: Envelope<'_>,
) -> Result<String, ErrorObject> {
    let modern = revision.has_result_type();
    let plugin = envelope.plugin_meta.and_then(|meta| unreserved(revision, meta).ok());
    let result = Enveloped {
        result_type: modern.then_some(envelope.result_type),
        members,
        caching: envelope.caching.filter(|_| modern),
        meta: Meta {
            plugin: plugin.unwrap_or_default(),
            host: envelope.host_meta,
            server: revision.is_modern().then(|| server.shown(revision)),
        },
    };
    let text = json::to_text(&result).map_err(|fault| error::unwritable(&fault))?;
    match json::single_line(&text) {
        Cow::Owned(line) => Ok(line),
        Cow::Borrowed(_) => Ok(text),
    }
}

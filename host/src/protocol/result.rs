//! The envelope of results: the members that every result of a revision has.

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
    Task,
}

/// Who may cache a result (2026-07-28 server/utilities/caching).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheScope {
    /// Shared between users.
    Public,
    Private,
}

/// For how long and by whom a complete result may be cached. Required on discover, the four lists
/// and resources/read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caching {
    pub ttl_ms: u64,
    #[serde(rename = "cacheScope")]
    pub scope: CacheScope,
}

impl Caching {
    /// Not cacheable: for lists that can change at any time.
    pub const NONE: Caching = Caching { ttl_ms: 0, scope: CacheScope::Private };

    /// The same, only for whom it was sent to.
    pub fn private(self) -> Self {
        Self { scope: CacheScope::Private, ..self }
    }
}

/// The envelope of a result. `Default` is for a call that returns no list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Envelope<'a> {
    pub result_type: ResultType,
    pub caching: Option<Caching>,
    /// A validated JSON object of a plugin. Reserved keys are left out; text that is not an object is
    /// left out entirely.
    pub plugin_meta: Option<&'a str>,
    /// The host's own keys and their values.
    pub host_meta: &'a [(&'a str, Raw<'a>)],
}

/// A result without members.
#[derive(Debug, Serialize)]
pub struct Empty {}

/// A result with its revision's envelope.
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

/// The `_meta` of a result: the plugin's keys, then the host's, then the server info.
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
/// what the modern revision adds, since strict clients reject it.
///
/// # Errors
/// If something in it is invalid JSON.
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

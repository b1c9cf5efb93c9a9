//! `server/discover` of 2026-07-28: the server's self-description.

use serde::Serialize;
use serde_json::Value;

use super::capability::ServerCapabilities;
use super::error::ErrorObject;
use super::implementation::Implementation;
use super::result::{self, Caching, Envelope};
use super::revision::Revision;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult<'a> {
    supported_versions: [&'static str; Revision::MODERN.len()],
    capabilities: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

/// `DiscoverResult` as JSON text. Only revisions that can be named in `_meta` are
/// listed: the client chooses one of them for its next requests.
pub fn result(
    revision: Revision,
    server: &Implementation,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    caching: Caching,
) -> Result<String, ErrorObject> {
    let members = DiscoverResult {
        supported_versions: Revision::MODERN.map(Revision::as_str),
        capabilities: capabilities.to_json(revision),
        instructions,
    };
    let envelope = Envelope { caching: Some(caching), ..Envelope::default() };
    result::object(revision, server, &members, envelope)
}

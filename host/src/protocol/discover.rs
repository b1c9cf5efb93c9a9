//! What a server of 2026-07-28 says about itself (server/discover).

use super::capability::ServerCapabilities;
use super::implementation::Implementation;
use super::result::{self, Caching, Envelope};
use super::revision::Revision;
use crate::json;

/// `DiscoverResult` as JSON text. Only revisions that can be named in `_meta` are
/// listed: the client chooses one of them for its next requests.
pub fn result(
    revision: Revision,
    server: &Implementation,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
    caching: Caching,
) -> String {
    let versions: Vec<String> = Revision::MODERN.iter().map(|revision| json::quote(revision.as_str())).collect();
    let mut members =
        format!(r#""supportedVersions":[{}],"capabilities":{}"#, versions.join(","), capabilities.to_json(revision),);
    if let Some(text) = instructions {
        members.push_str(&format!(r#","instructions":{}"#, json::quote(text)));
    }
    let envelope = Envelope { caching: Some(caching), ..Envelope::default() };
    result::object(revision, server, &members, envelope)
}

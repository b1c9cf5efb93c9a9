//! The handshake of the legacy revisions: version negotiation and the result.

use serde_json::json;

use super::capability::ServerCapabilities;
use super::implementation::Implementation;
use super::revision::Revision;

/// The legacy revision to answer with: the one asked for, otherwise the newest legacy
/// one, never an error. A client that asks for 2026-07-28 here wants a handshake, which
/// that revision does not have.
pub fn negotiate(requested: &str) -> Revision {
    Revision::parse(requested).filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY)
}

/// `InitializeResult` as JSON text.
pub fn result(
    revision: Revision,
    server: &Implementation,
    capabilities: &ServerCapabilities,
    instructions: Option<&str>,
) -> String {
    let mut result = json!({
        "protocolVersion": revision.as_str(),
        "capabilities": capabilities.to_json(revision),
        "serverInfo": server.shown(revision),
    });
    if let Some(text) = instructions {
        result["instructions"] = text.into();
    }
    result.to_string()
}

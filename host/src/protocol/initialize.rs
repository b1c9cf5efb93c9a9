//! The handshake of the legacy revisions: which revision, and what is answered.

use super::capability::ServerCapabilities;
use super::implementation::Implementation;
use super::revision::Revision;
use crate::json;

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
    let instructions =
        instructions.map_or_else(String::new, |text| format!(r#","instructions":{}"#, json::quote(text)));
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{},"serverInfo":{}{instructions}}}"#,
        capabilities.to_json(revision),
        server.to_json(revision),
    )
}

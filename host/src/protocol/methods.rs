//! The methods of each revision.

use super::revision::Revision;

const LEGACY: [&str; 13] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
];

const MODERN: [&str; 13] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
    // Of the extension io.modelcontextprotocol/skills.
    "skills/list",
    "skills/get",
    "resources/directory/read",
];

/// The methods a client may call in `revision`. All legacy revisions have the same.
pub const fn methods(revision: Revision) -> &'static [&'static str] {
    if revision.is_modern() { &MODERN } else { &LEGACY }
}

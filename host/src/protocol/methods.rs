//! The methods of each revision.

use super::revision::Revision;

/// The last ones are of 2025-11-25 alone.
const LEGACY: [&str; 13 + CORE_TASKS] = [
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
    // Of tasks in the core, experimental.
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
];
const CORE_TASKS: usize = 4;

const MODERN: [&str; 16] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
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

/// A method of any revision.
pub fn known(method: &str) -> Option<&'static str> {
    LEGACY.iter().chain(&MODERN).find(|known| **known == method).copied()
}

/// The methods a client may call in `revision`.
pub const fn methods(revision: Revision) -> &'static [&'static str] {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 => {
            LEGACY.split_at(LEGACY.len() - CORE_TASKS).0
        }
        Revision::V2025_11_25 => &LEGACY,
        Revision::V2026_07_28 => &MODERN,
    }
}

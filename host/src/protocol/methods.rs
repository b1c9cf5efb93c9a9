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

/// Tasks in the core, experimental.
const WITH_TASKS: [&str; 17] = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
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

/// The methods a client may call in `revision`.
pub const fn methods(revision: Revision) -> &'static [&'static str] {
    match revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 | Revision::V2025_06_18 => &LEGACY,
        Revision::V2025_11_25 => &WITH_TASKS,
        Revision::V2026_07_28 => &MODERN,
    }
}

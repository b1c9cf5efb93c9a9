//! The five revisions, their order, and what each allows.
//! It does not decide which revision a message belongs to: see [`super::era`].

use std::fmt;

use crate::jsonrpc::encode::UnreadableId;

/// A published revision of the protocol. The order is that of publication; strings
/// that clients send are compared by membership, never by order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

/// What a tool may return as structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredContent {
    None,
    Object,
    /// Any JSON value, null included.
    Any,
}

use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

impl Revision {
    /// Chosen by a handshake (`initialize`).
    pub const LEGACY: [Revision; 4] = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25];
    /// Named in each request's `_meta`.
    pub const MODERN: [Revision; 1] = [V2026_07_28];
    /// The counter-offer to a client that requests an unknown revision.
    pub const LATEST_LEGACY: Revision = V2025_11_25;

    pub const fn as_str(self) -> &'static str {
        match self {
            V2024_11_05 => "2024-11-05",
            V2025_03_26 => "2025-03-26",
            V2025_06_18 => "2025-06-18",
            V2025_11_25 => "2025-11-25",
            V2026_07_28 => "2026-07-28",
        }
    }

    /// In the order of publication.
    pub fn all() -> impl Iterator<Item = Revision> {
        Self::LEGACY.into_iter().chain(Self::MODERN)
    }

    pub fn parse(text: &str) -> Option<Revision> {
        Self::all().find(|revision| revision.as_str() == text)
    }

    /// Stateless, with `_meta` on every request (2026-07-28 basic/versioning).
    pub const fn is_modern(self) -> bool {
        matches!(self, V2026_07_28)
    }

    /// Batches: 2025-03-26 requires receiving them (basic, "Batching"); 2024-11-05 only refers to
    /// JSON-RPC 2.0, which has them; 2025-06-18 removed them.
    pub const fn allows_batch(self) -> bool {
        matches!(self, V2024_11_05 | V2025_03_26)
    }

    /// The `id` of an error whose request id could not be read: JSON-RPC's null where
    /// the schema does not differ, absent since 2025-11-25 (schema `JSONRPCErrorResponse`).
    pub const fn unreadable_id(self) -> UnreadableId {
        match self {
            V2024_11_05 | V2025_03_26 | V2025_06_18 => UnreadableId::Null,
            V2025_11_25 | V2026_07_28 => UnreadableId::Omit,
        }
    }

    /// `Tool.annotations` (schema `Tool`, since 2025-03-26).
    pub fn has_tool_annotations(self) -> bool {
        self >= V2025_03_26
    }

    /// `title` beside `name` (schema `BaseMetadata`, since 2025-06-18).
    pub fn has_title(self) -> bool {
        self >= V2025_06_18
    }

    /// `_meta` on tools, prompts, resources and content blocks (since 2025-06-18).
    pub fn has_item_meta(self) -> bool {
        self >= V2025_06_18
    }

    /// `structuredContent` of a tool's result (server/tools of each revision).
    pub const fn structured_content(self) -> StructuredContent {
        match self {
            V2024_11_05 | V2025_03_26 => StructuredContent::None,
            V2025_06_18 | V2025_11_25 => StructuredContent::Object,
            V2026_07_28 => StructuredContent::Any,
        }
    }

    /// `icons` on tools, prompts, resources and implementations; with them
    /// `description` and `websiteUrl` of an implementation (since 2025-11-25).
    pub fn has_icons(self) -> bool {
        self >= V2025_11_25
    }

    /// Arguments that fail a tool's schema are a result with `isError`, which the model
    /// can act on (2025-11-25 server/tools, "Error Handling"); before, -32602.
    pub fn invalid_arguments_are_results(self) -> bool {
        self >= V2025_11_25
    }

    /// `audio` content (since 2025-03-26); older clients refuse the whole result.
    pub fn has_audio(self) -> bool {
        self >= V2025_03_26
    }

    /// `resource_link` content (since 2025-06-18); older clients refuse the whole result.
    pub fn has_resource_link(self) -> bool {
        self >= V2025_06_18
    }

    /// `lastModified` in annotations (since 2025-06-18).
    pub fn has_last_modified(self) -> bool {
        self >= V2025_06_18
    }

    /// `message` in progress notifications (since 2025-03-26).
    pub fn has_progress_message(self) -> bool {
        self >= V2025_03_26
    }

    /// `capabilities.completions` (since 2025-03-26; before, the method needs no capability).
    pub fn has_completions_capability(self) -> bool {
        self >= V2025_03_26
    }

    /// `context.arguments` of completion/complete (since 2025-06-18).
    pub fn has_completion_context(self) -> bool {
        self >= V2025_06_18
    }

    /// Elicitation by form (client/elicitation, since 2025-06-18).
    pub fn has_elicitation(self) -> bool {
        self >= V2025_06_18
    }

    /// Elicitation by URL (client/elicitation, since 2025-11-25), and with it more kinds of
    /// form fields.
    pub fn has_elicitation_url(self) -> bool {
        self >= V2025_11_25
    }

    /// Tasks in the core, experimental: only in 2025-11-25. Later they are an extension.
    pub fn has_core_tasks(self) -> bool {
        self == V2025_11_25
    }

    /// `elicitationId` of a visit: only in 2025-11-25.
    pub fn has_elicitation_id(self) -> bool {
        self == V2025_11_25
    }

    /// Tools, context and several contents in one message of sampling (client/sampling,
    /// since 2025-11-25).
    pub fn has_sampling_tools(self) -> bool {
        self >= V2025_11_25
    }

    /// `resultType`, `ttlMs`, `cacheScope` (2026-07-28 basic, server/utilities/caching).
    /// Strict clients of older revisions refuse results that carry them.
    pub const fn has_result_type(self) -> bool {
        self.is_modern()
    }

    /// -32021 for a missing client capability (2026-07-28 basic, "Client Capabilities"); the older
    /// revisions have no code for it.
    pub const fn has_capability_error(self) -> bool {
        self.is_modern()
    }

    /// The code for a resource that does not exist: -32002 until 2025-11-25; 2026-07-28
    /// requires -32602 and forbids the old one (server/resources, "Error Handling").
    pub const fn resource_not_found_code(self) -> i64 {
        if self.is_modern() { -32602 } else { -32002 }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

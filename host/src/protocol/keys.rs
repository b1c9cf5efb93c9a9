//! The keys of `_meta` that the protocol gives a meaning to (2026-07-28 basic, "_meta").

pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The host's own: in a request, whether its sender wants to know what it costs; in a result, the cost. A prefix with one
/// label, which the specification does not reserve.
pub const COST: &str = "wharf/cost";

/// Reserved without a prefix, for W3C Trace Context.
pub const TRACEPARENT: &str = "traceparent";
pub const TRACESTATE: &str = "tracestate";

/// The extension for tasks.
pub const TASKS: &str = "io.modelcontextprotocol/tasks";
/// The task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

//! Everything between a component's bytes and a typed outcome: checking, compiling,
//! sandboxing, listing, calling.
//!
//! Knows nothing of MCP, JSON-RPC or configuration files.

pub mod abi;
mod allowance;
mod breaker;
mod cache;
mod call;
mod cause;
mod checking;
pub mod compile;
mod cpu;
mod denial;
mod dialect;
mod engine;
mod events;
mod fault;
mod file;
mod filesystem;
mod forms;
mod function;
mod granted;
mod grants;
mod guest_log;
mod host_calls;
mod id;
mod inspect;
mod invocation;
pub mod json;
mod keyvalue;
mod kind;
mod limits;
mod load;
mod outbound;
mod outcome;
mod pattern;
mod peek;
pub mod plain;
mod provider;
mod quick;
mod quota;
mod redact;
mod sandbox;
pub mod schema;
mod secret;
mod sections;
mod signature;
mod spare;
mod state;
mod surface;
mod template;
pub mod text;
mod threads;
mod ticker;
mod turns;
mod turnstile;
mod wasmcp;

pub use denial::Denial;
pub use events::Events;
pub use fault::{CallError, Fault};
pub use file::{content_of, is_writable_by_others, read_component};
pub use filesystem::Closed;
pub use grants::{Access, FolderGrant, FolderMode, Grants, KeyvalueGrant, PrivateFile};
pub use id::{Digest, InvalidPluginId, PluginId};
pub use inspect::{Import, Inspection, could_be_plugin, inspect};
pub use kind::{Kind, Maker, Portrait, portray};
pub use limits::Limits;
pub use load::{LoadError, Plugin};
pub use outbound::{Caps, HttpGrant, OutboundSettings, Resolve, SystemResolver};
pub use peek::exports_completions;
pub use provider::{Call, Event, LogBody, Provider};
pub use sandbox::{Compiler, Sandbox, SandboxSettings};
pub use schema::{Mirrored, Schema, Violation, Wrapping};
pub use secret::{Missing, Secret};
pub use signature::{Signatures, Signer};
pub use surface::{FrozenTemplate, FrozenTool, Surface};
pub use template::UriTemplate;

#[cfg(test)]
mod tests;

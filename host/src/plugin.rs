//! From a component's bytes to a typed outcome: checking, compiling, sandboxing, listing, calling.
//!
//! Independent of MCP, JSON-RPC and configuration files.

pub mod abi;
mod component;
mod dialects;
mod error;
mod events;
mod fault;
mod id;
mod imports;
mod instance;
pub mod json;
mod limits;
mod load;
mod loaded;
mod outcome;
mod pending;
mod pinned_pages;
mod policy;
pub mod process;
mod provider;
mod replay;
mod sandbox;
pub mod schema;
mod skills;
mod stored_listing;
mod surface;
mod tape;

mod threads;

pub use component::act::declared;
pub use component::compile;
pub use component::compile::Compiler;
pub use component::engine::EngineKind;
pub use component::file::{MAX_SIZE as MAX_COMPONENT, check_size, content_of, is_writable_by_others, read_component};
pub use component::inspect::{Import, Inspection, could_be_plugin, inspect};
pub use component::kind::{FileSummary, Kind, Producer, summarize};
pub use component::link::linked;
pub use component::metadata::metadata;
pub use component::signature::{Signatures, Signer, signature_file};
pub use dialects::peek::exports_completions;
pub use dialects::{COMMAND_TOOL, plain};
pub use error::LoadError;
pub use events::{Event, Events, LogBody};
pub use fault::{CallError, Fault, TrapKind};
pub use id::{Digest, InvalidPluginId, PluginId};
pub use imports::filesystem::{ProtectedFolders, folder_objection, folder_of};
pub use imports::keyvalue::{KeyvalueFile, KeyvaluePlace};
pub use imports::outbound::{Caps, OutboundSettings};
pub use limits::{Isolation, Limits, TaskLimits};
pub use loaded::Plugin;
pub use pending::{Compiled, PendingPlugin};
pub use policy::access::Access;
pub use policy::command::CommandSettings;
pub use policy::denial::Denial;
pub use policy::extra::{Extra, ExtraLimits, Extras, Holding, MAX_EXTRAS};
pub use policy::grants::{FolderGrant, FolderMode, Grants, KeyvalueGrant, PrivateFile};
pub use policy::outbound::grant::HttpGrant;
pub use policy::pages::{PageReach, Pages};
pub use policy::personal::PersonalSecrets;
pub use policy::secret::{Missing, Secret};
pub use policy::template::SecretTemplate;
pub use provider::{Call, Provider};
pub use replay::{Replayed, replay};
pub use sandbox::{Running, Sandbox, SandboxSettings, WorkerProgram};
pub use schema::{Mirrored, Schema, Violation, Wrapping};
pub use skills::Skills;
pub use stored_listing::{Embedded, StoredSurface};
pub use surface::template::UriTemplate;
pub use surface::{
    FrozenTemplate, FrozenTool, ListingWarning, Parameter, SchemaStyle, Surface, ToolUi, own_pages, parameters,
    signature,
};

pub use tape::{
    Difference, MAX_FILE as MAX_RECORDING_FILE, MAX_RECORDING, NotARecording, RecordFolder, RecordSettings, Recorded,
    Recorder, Retention, Spending, What, read as read_recording, recording_of,
};

#[cfg(test)]
mod tests;

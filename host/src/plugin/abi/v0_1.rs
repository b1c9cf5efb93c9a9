//! `wharf:plugin@0.1`: the only file that uses its bindgen modules.
//!
//! Links the host's functions, which are implemented in `host_calls`; exports are called in `call`.

use wasmtime::component::{HasSelf, Linker};

mod bindings {
    wasmtime::component::bindgen!({
        world: "wharf:plugin/plugin",
        path: "../wit",
        imports: { "wharf:plugin/http": async },
        exports: { default: async },
        additional_derives: [PartialEq],
    });
}

/// The interface's records and variants.
pub(super) mod types {
    pub use super::bindings::exports::wharf::plugin::completions::{Completion, Subject};
    pub use super::bindings::exports::wharf::plugin::extensions::{Capability, Offer};
    pub use super::bindings::exports::wharf::plugin::prompts::{
        Prompt, PromptArgument, PromptMessage, PromptOutcome, PromptResult,
    };
    pub use super::bindings::exports::wharf::plugin::resources::{
        CacheScope, Caching, ReadOutcome, ReadResult, ResourceTemplate,
    };
    pub use super::bindings::exports::wharf::plugin::tools::{
        TaskSupport, Tool, ToolAnnotations, ToolOutcome, ToolResult,
    };
    pub use super::bindings::wharf::plugin::host::{Listing, LogLevel};
    pub use super::bindings::wharf::plugin::types::{
        Annotations, Answer, Ask, CallContext, CallError as GuestError, ClientFeatures, Content, ContextScope,
        ElicitAction, Elicited, EmbeddedResource, Form, Icon, IconTheme, InputRequired, InvalidInput, MediaContent,
        ModelPreferences, Question, Reply, ResourceBody, ResourceContents, ResourceDescription, Role, Root, Sampled,
        Sampling, SamplingContent, SamplingMessage, SamplingTool, TextContent, ToolAnswer, ToolChoice, ToolUse,
        UrlVisit,
    };
}

pub(in crate::plugin) use bindings::wharf::plugin::host::Host as HostCalls;
pub(in crate::plugin) use bindings::wharf::plugin::http::Error as HttpError;
pub(in crate::plugin) use bindings::wharf::plugin::http::{self as Http, Host as HttpCalls};
pub(in crate::plugin) use bindings::wharf::plugin::types::Host as TypesCalls;

/// Adds this version's imports to the linker.
pub(in crate::plugin) fn link<T>(linker: &mut Linker<T>) -> wasmtime::Result<()>
where
    T: HostCalls + HttpCalls + TypesCalls + Send + 'static,
{
    use bindings::wharf::plugin::{host, http, types};
    types::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    host::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    http::add_to_linker::<_, HasSelf<T>>(linker, |state| state)
}

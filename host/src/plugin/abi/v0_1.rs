//! `wharf:plugin@0.1`: the only file that names what bindgen makes of it.
//!
//! Finds a component's exports and links the host's functions; what these do is in
//! `host_calls`, how exports are called is in `call`.

use std::sync::Arc;

use types::CallContext;
use wasmtime::component::{HasSelf, InstancePre, Linker};

use crate::plugin::function::Function;
use crate::plugin::load::LoadError;

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

/// Gives components this version's imports.
pub(in crate::plugin) fn link<T>(linker: &mut Linker<T>) -> wasmtime::Result<()>
where
    T: HostCalls + HttpCalls + TypesCalls + Send + 'static,
{
    use bindings::wharf::plugin::{host, http, types};
    types::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    host::add_to_linker::<_, HasSelf<T>>(linker, |state| state)?;
    http::add_to_linker::<_, HasSelf<T>>(linker, |state| state)
}

/// Where a component's functions are. `None`: the component does not export the interface.
#[derive(Clone)]
pub(in crate::plugin) struct Exports {
    pub(in crate::plugin) tools: Option<Tools>,
    pub(in crate::plugin) resources: Option<Resources>,
    pub(in crate::plugin) prompts: Option<Prompts>,
    pub(in crate::plugin) completions: Option<Completions>,
    pub(in crate::plugin) extensions: Option<Extensions>,
}

type Listed<T> = (Result<Vec<T>, String>,);
type Called<T> = (Result<T, types::GuestError>,);
type Given = Vec<(String, String)>;

#[derive(Clone)]
pub(in crate::plugin) struct Tools {
    pub(in crate::plugin) list: Function<(), Listed<types::Tool>>,
    pub(in crate::plugin) call: Function<(String, Arc<str>, CallContext), Called<types::ToolOutcome>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Resources {
    pub(in crate::plugin) list: Function<(), Listed<types::ResourceDescription>>,
    pub(in crate::plugin) templates: Function<(), Listed<types::ResourceTemplate>>,
    pub(in crate::plugin) read: Function<(String, CallContext), Called<types::ReadOutcome>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Prompts {
    pub(in crate::plugin) list: Function<(), Listed<types::Prompt>>,
    pub(in crate::plugin) get: Function<(String, Given, CallContext), Called<types::PromptOutcome>>,
}

type Completing = (types::Subject, String, String, Given, CallContext);

#[derive(Clone)]
pub(in crate::plugin) struct Completions {
    pub(in crate::plugin) complete: Function<Completing, Called<types::Completion>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Extensions {
    pub(in crate::plugin) describe: Function<(), (Result<types::Offer, String>,)>,
    pub(in crate::plugin) call: Function<(String, String, CallContext), Called<String>>,
}

impl Exports {
    /// The version's interfaces, as a component names them.
    pub(in crate::plugin) const INTERFACES: [&str; 5] = [
        "wharf:plugin/tools@0.1.0",
        "wharf:plugin/resources@0.1.0",
        "wharf:plugin/prompts@0.1.0",
        Self::COMPLETIONS,
        "wharf:plugin/extensions@0.1.0",
    ];
    pub(in crate::plugin) const COMPLETIONS: &str = "wharf:plugin/completions@0.1.0";

    /// Looks all functions up once and checks their types.
    pub(in crate::plugin) fn find<T: 'static>(pre: &InstancePre<T>) -> Result<Self, LoadError> {
        let [tools, resources, prompts, completions, extensions] =
            Self::INTERFACES.map(|name| Some((name, pre.component().get_export_index(None, name)?)));
        // The interfaces that it exports, each with all its functions.
        Ok(Self {
            tools: tools
                .map(|(name, index)| {
                    let at = (name, &index);
                    let list = Function::find(pre, at, "list-tools")?;
                    Ok(Tools { list, call: Function::find(pre, at, "call-tool")? })
                })
                .transpose()?,
            resources: resources
                .map(|(name, index)| {
                    let at = (name, &index);
                    let list = Function::find(pre, at, "list-resources")?;
                    let templates = Function::find(pre, at, "list-resource-templates")?;
                    Ok(Resources { list, templates, read: Function::find(pre, at, "read-resource")? })
                })
                .transpose()?,
            prompts: prompts
                .map(|(name, index)| {
                    let at = (name, &index);
                    let list = Function::find(pre, at, "list-prompts")?;
                    Ok(Prompts { list, get: Function::find(pre, at, "get-prompt")? })
                })
                .transpose()?,
            completions: completions
                .map(|(name, index)| Ok(Completions { complete: Function::find(pre, (name, &index), "complete")? }))
                .transpose()?,
            extensions: extensions
                .map(|(name, index)| {
                    let at = (name, &index);
                    let describe = Function::find(pre, at, "describe")?;
                    Ok(Extensions { describe, call: Function::find(pre, at, "call-method")? })
                })
                .transpose()?,
        })
    }

    /// Whether there is anything that a host could ask for.
    pub(in crate::plugin) fn is_empty(&self) -> bool {
        self.tools.is_none()
            && self.resources.is_none()
            && self.prompts.is_none()
            && self.completions.is_none()
            && self.extensions.is_none()
    }
}

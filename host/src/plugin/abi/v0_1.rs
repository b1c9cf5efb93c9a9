//! `wharf:plugin@0.1`: the only file that names what bindgen makes of it.
//!
//! Finds a component's exports and links the host's functions; what these do is in
//! `host_calls`, how exports are called is in `call`.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, HasSelf, InstancePre, Lift, Linker, Lower};

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

#[derive(Clone, Copy)]
pub(in crate::plugin) struct Tools {
    pub(in crate::plugin) list: ComponentExportIndex,
    pub(in crate::plugin) call: ComponentExportIndex,
}

#[derive(Clone, Copy)]
pub(in crate::plugin) struct Resources {
    pub(in crate::plugin) list: ComponentExportIndex,
    pub(in crate::plugin) templates: ComponentExportIndex,
    pub(in crate::plugin) read: ComponentExportIndex,
}

#[derive(Clone, Copy)]
pub(in crate::plugin) struct Prompts {
    pub(in crate::plugin) list: ComponentExportIndex,
    pub(in crate::plugin) get: ComponentExportIndex,
}

#[derive(Clone, Copy)]
pub(in crate::plugin) struct Completions {
    pub(in crate::plugin) complete: ComponentExportIndex,
}

#[derive(Clone, Copy)]
pub(in crate::plugin) struct Extensions {
    pub(in crate::plugin) describe: ComponentExportIndex,
    pub(in crate::plugin) call: ComponentExportIndex,
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
        use types::*;
        type Listed<T> = (Result<Vec<T>, String>,);
        type Given = Vec<(String, String)>;
        let [tools, resources, prompts, completions, extensions] =
            Self::INTERFACES.map(|name| Interface { pre, name, index: pre.component().get_export_index(None, name) });
        Ok(Self {
            tools: match tools.index {
                None => None,
                Some(_) => Some(Tools {
                    list: tools.function::<(), Listed<Tool>>("list-tools")?,
                    call: tools
                        .function::<(String, String, CallContext), (Result<ToolOutcome, GuestError>,)>("call-tool")?,
                }),
            },
            resources: match resources.index {
                None => None,
                Some(_) => Some(Resources {
                    list: resources.function::<(), Listed<ResourceDescription>>("list-resources")?,
                    templates: resources.function::<(), Listed<ResourceTemplate>>("list-resource-templates")?,
                    read: resources
                        .function::<(String, CallContext), (Result<ReadOutcome, GuestError>,)>("read-resource")?,
                }),
            },
            prompts: match prompts.index {
                None => None,
                Some(_) => Some(Prompts {
                    list: prompts.function::<(), Listed<Prompt>>("list-prompts")?,
                    get: prompts
                        .function::<(String, Given, CallContext), (Result<PromptOutcome, GuestError>,)>("get-prompt")?,
                }),
            },
            completions: match completions.index {
                None => None,
                Some(_) => Some(Completions {
                    complete: completions
                        .function::<(Subject, String, String, Given, CallContext), (Result<Completion, GuestError>,)>(
                            "complete",
                        )?,
                }),
            },
            extensions: match extensions.index {
                None => None,
                Some(_) => Some(Extensions {
                    describe: extensions.function::<(), (Result<Offer, String>,)>("describe")?,
                    call: extensions
                        .function::<(String, String, CallContext), (Result<String, GuestError>,)>("call-method")?,
                }),
            },
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

/// One of the interfaces, as a component may export it.
struct Interface<'a, T: 'static> {
    pre: &'a InstancePre<T>,
    name: &'static str,
    index: Option<ComponentExportIndex>,
}

impl<T> Interface<'_, T> {
    fn function<P, R>(&self, name: &str) -> Result<ComponentExportIndex, LoadError>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        let full = || format!("{}.{name}", self.name);
        let found = self.pre.component().get_export(self.index.as_ref(), name);
        let Some((item, index)) = found else {
            return Err(LoadError::MissingFunction(full()));
        };
        let ComponentItem::ComponentFunc(function) = item else {
            return Err(LoadError::WrongType(full()));
        };
        match function.typecheck::<P, R>(&self.pre.instance_type()) {
            Ok(()) => Ok(index),
            Err(_) => Err(LoadError::WrongType(full())),
        }
    }
}

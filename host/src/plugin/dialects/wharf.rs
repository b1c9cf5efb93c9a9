//! `wharf:plugin@0.1`: the interfaces of this host's own.

use std::sync::Arc;

use wasmtime::component::InstancePre;

use crate::plugin::abi::*;
use crate::plugin::error::LoadError;
use crate::plugin::instance::function::Function;

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
type Called<T> = (Result<T, GuestError>,);
type Given = Vec<(String, String)>;

#[derive(Clone)]
pub(in crate::plugin) struct Tools {
    pub(in crate::plugin) list: Function<(), Listed<Tool>>,
    pub(in crate::plugin) call: Function<(String, Arc<str>, CallContext), Called<ToolOutcome>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Resources {
    pub(in crate::plugin) list: Function<(), Listed<ResourceDescription>>,
    pub(in crate::plugin) templates: Function<(), Listed<ResourceTemplate>>,
    pub(in crate::plugin) read: Function<(String, CallContext), Called<ReadOutcome>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Prompts {
    pub(in crate::plugin) list: Function<(), Listed<Prompt>>,
    pub(in crate::plugin) get: Function<(String, Given, CallContext), Called<PromptOutcome>>,
}

type Completing = (Subject, String, String, Given, CallContext);

#[derive(Clone)]
pub(in crate::plugin) struct Completions {
    pub(in crate::plugin) complete: Function<Completing, Called<Completion>>,
}

#[derive(Clone)]
pub(in crate::plugin) struct Extensions {
    pub(in crate::plugin) describe: Function<(), (Result<Offer, String>,)>,
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

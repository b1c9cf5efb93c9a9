//! `wharf:plugin@0.1`, this host's own interfaces.

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::InstancePre;

use super::{Dialect, Entry, Found, NOT_FOUND};
use crate::plugin::abi::*;
use crate::plugin::error::LoadError;
use crate::plugin::fault::CallError;
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::{PreparedComponent, internal};
use crate::plugin::instance::function::Function;
use crate::plugin::instance::invocation::Typed;
use crate::plugin::limits::Limits;
use crate::plugin::outcome::checked;
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed};

/// Has no imports in addition to those of all components.
pub(super) const ENTRY: Entry = Entry { link: |_| Ok(()), find, completes: |export| export == Exports::COMPLETIONS };

fn find(pre: &InstancePre<GuestState>, _: &[u8]) -> Found {
    let exports = Exports::find(pre)?;
    Ok((!exports.is_empty()).then(|| Box::new(exports) as _))
}

/// A component's functions. `None`: the component does not export the interface.
#[derive(Clone)]
struct Exports {
    tools: Option<Tools>,
    resources: Option<Resources>,
    prompts: Option<Prompts>,
    completions: Option<Completions>,
    extensions: Option<Extensions>,
}

type ListResult<T> = (Result<Vec<T>, String>,);
type Called<T> = (Result<T, GuestError>,);
type Given = Vec<(String, String)>;

#[derive(Clone)]
struct Tools {
    list: Function<(), ListResult<Tool>>,
    call: Function<(String, Arc<str>, CallContext), Called<ToolOutcome>>,
}

#[derive(Clone)]
struct Resources {
    list: Function<(), ListResult<ResourceDescription>>,
    templates: Function<(), ListResult<ResourceTemplate>>,
    read: Function<(String, CallContext), Called<ReadOutcome>>,
}

#[derive(Clone)]
struct Prompts {
    list: Function<(), ListResult<Prompt>>,
    get: Function<(String, Given, CallContext), Called<PromptOutcome>>,
}

type Completing = (Subject, String, String, Given, CallContext);

#[derive(Clone)]
struct Completions {
    complete: Function<Completing, Called<Completion>>,
}

#[derive(Clone)]
struct Extensions {
    describe: Function<(), (Result<Offer, String>,)>,
    call: Function<(String, String, CallContext), Called<String>>,
}

impl Exports {
    /// The interfaces, as a component names them.
    const INTERFACES: [&str; 5] = [
        "wharf:plugin/tools@0.1.0",
        "wharf:plugin/resources@0.1.0",
        "wharf:plugin/prompts@0.1.0",
        Self::COMPLETIONS,
        "wharf:plugin/extensions@0.1.0",
    ];
    const COMPLETIONS: &str = "wharf:plugin/completions@0.1.0";

    /// Looks up all functions once, and checks their types.
    fn find<T: 'static>(pre: &InstancePre<T>) -> Result<Self, LoadError> {
        let [tools, resources, prompts, completions, extensions] =
            Self::INTERFACES.map(|name| Some((name, pre.component().get_export_index(None, name)?)));
        // An exported interface must have all its functions.
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

    /// Whether no interface is exported.
    fn is_empty(&self) -> bool {
        self.tools.is_none()
            && self.resources.is_none()
            && self.prompts.is_none()
            && self.completions.is_none()
            && self.extensions.is_none()
    }
}

#[async_trait]
impl Dialect for Exports {
    /// All lists share one deadline.
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let call = internal("list", Limits::LISTING);
        let mut listed = Listed { completions: self.completions.is_some(), ..Listed::default() };
        if let Some(tools) = &self.tools {
            let listing = prepared.call_function(&tools.list, call.clone(), |_| ());
            listed.tools = Some(LoadError::of_listing(listing.await)?);
        }
        if let Some(resources) = &self.resources {
            let listing = prepared.call_function(&resources.list, call.clone(), |_| ());
            listed.resources = Some(LoadError::of_listing(listing.await)?);
            let listing = prepared.call_function(&resources.templates, call.clone(), |_| ());
            listed.templates = LoadError::of_listing(listing.await)?;
        }
        if let Some(prompts) = &self.prompts {
            let listing = prepared.call_function(&prompts.list, call.clone(), |_| ());
            listed.prompts = Some(LoadError::of_listing(listing.await)?);
        }
        if let Some(extensions) = &self.extensions {
            let listing = prepared.call_function(&extensions.describe, call, |_| ());
            listed.offer = Some(LoadError::of_listing(listing.await)?);
        }
        Ok(listed)
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        let tools = self.tools.as_ref().ok_or(NOT_FOUND)?;
        let (name, given) = (tool.tool.name.clone(), arguments.clone());
        let invocation = Typed { function: tools.call.clone(), params: |context| (name, given, context) };
        let read = |outcome: Result<_, _>| outcome.map_err(CallError::Guest);
        checked::tool(prepared, tool, arguments, invocation, call, read).await
    }

    async fn read_resource(
        &self,
        prepared: &Arc<PreparedComponent>,
        uri: &str,
        call: Call,
    ) -> Result<ReadOutcome, CallError> {
        let resources = self.resources.as_ref().ok_or(NOT_FOUND)?;
        let uri = uri.to_owned();
        checked::typed(prepared, &resources.read, call, |context| (uri, context), checked::read).await
    }

    async fn get_prompt(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let prompts = self.prompts.as_ref().ok_or(NOT_FOUND)?;
        let name = name.to_owned();
        checked::typed(prepared, &prompts.get, call, |context| (name, arguments, context), checked::prompt).await
    }

    async fn complete(
        &self,
        prepared: &Arc<PreparedComponent>,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let completions = self.completions.as_ref().ok_or(NOT_FOUND)?;
        let (name, value) = (name.to_owned(), value.to_owned());
        let params = |context| (subject, name, value, given, context);
        checked::typed(prepared, &completions.complete, call, params, checked::completion).await
    }

    async fn call_method(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        params: &str,
        call: Call,
    ) -> Result<String, CallError> {
        let extensions = self.extensions.as_ref().ok_or(NOT_FOUND)?;
        let (name, params) = (name.to_owned(), params.to_owned());
        checked::typed(prepared, &extensions.call, call, |context| (name, params, context), checked::method).await
    }
}

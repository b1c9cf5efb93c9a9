//! From a component's bytes to a plugin that can be called: check, compile, link, list.
//!
//! Reads no file (`file` does) and decides nothing about names in the catalog.

mod error;
mod prescan;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{Component, types::ComponentItem};

pub use error::LoadError;
pub(super) use prescan::prescan;

use super::abi::{
    Completion, Exports, GuestError, Prompt, PromptOutcome, ReadOutcome, ResourceDescription, ResourceTemplate,
    Subject, Tool, ToolOutcome,
};
use super::call::{Program, internal};
use super::fault::{CallError, Fault};
use super::id::{Digest, PluginId};
use super::limits::Limits;
use super::outcome;
use super::provider::{Call, Provider};
use super::sandbox::Sandbox;
use super::surface::{Listed, Surface};
use super::{compile, inspect};

/// A loaded component. Calls in flight keep what they need, so it may be dropped any time.
pub struct Plugin {
    pub(super) program: Arc<Program>,
    surface: Surface,
    warnings: Vec<String>,
}

impl Sandbox {
    /// Makes a plugin of a component's bytes: compiles it (or finds it in the cache), links
    /// it and asks it what it offers. May be called from any runtime.
    ///
    /// # Errors
    /// One clear reason why these bytes are no plugin; nothing is left behind.
    pub async fn load(self: &Arc<Self>, id: PluginId, component: Vec<u8>, limits: Limits) -> Result<Plugin, LoadError> {
        let sandbox = self.clone();
        let loading = self.guests().spawn(async move {
            let limits = Limits { memory: limits.memory.min(Limits::MEMORY_CEILING), ..limits };
            let digest = Digest::of(&component);
            let compiled = compile::compiled(&sandbox, component, digest, &limits).await?;
            let program = program(&sandbox, id, digest, limits, &compiled)?;
            let (surface, warnings) = list(&program).await?;
            Ok(Plugin { program, surface, warnings })
        });
        match loading.await {
            Ok(loaded) => loaded,
            Err(error) => Err(LoadError::Host(error.to_string())),
        }
    }
}

/// Links a component and finds its functions.
fn program(
    sandbox: &Arc<Sandbox>,
    id: PluginId,
    digest: Digest,
    limits: Limits,
    component: &Component,
) -> Result<Arc<Program>, LoadError> {
    if let Some(required) = component.resources_required()
        && let Some(pages) = required.max_initial_memory_size
        && pages.saturating_mul(64 << 10) > limits.memory
    {
        return Err(LoadError::DeclaredMemory { bytes: pages.saturating_mul(64 << 10), limit: limits.memory });
    }
    let engine = sandbox.engine();
    let kind = component.component_type();
    for (name, item) in kind.imports(engine) {
        // Types alone ask for nothing.
        let wanted = match &item.ty {
            ComponentItem::Type(_) => false,
            ComponentItem::ComponentInstance(instance) => {
                instance.exports(engine).any(|(_, item)| !matches!(item.ty, ComponentItem::Type(_)))
            }
            _ => true,
        };
        if wanted && !inspect::is_linked(name) {
            return Err(LoadError::unknown_import(name));
        }
    }
    let pre = sandbox.linker().instantiate_pre(component).map_err(LoadError::unlinkable)?;
    let exports = Exports::find(&pre)?;
    if exports.is_empty() {
        let names = kind.exports(engine).map(|(name, _)| name.to_owned()).collect();
        return Err(LoadError::no_interface(names));
    }
    Ok(Program::new(sandbox.clone(), id, digest, limits, exports, pre))
}

/// Asks for all lists, under one deadline.
async fn list(program: &Arc<Program>) -> Result<(Surface, Vec<String>), LoadError> {
    let call = internal("list", Limits::LISTING);
    let mut listed = Listed::default();
    if let Some(tools) = program.exports.tools {
        let asked = program.invoke::<(), Result<Vec<Tool>, String>>(tools.list, call.clone(), |_| ());
        listed.tools = Some(answer(asked.await)?);
    }
    if let Some(resources) = program.exports.resources {
        let asked =
            program.invoke::<(), Result<Vec<ResourceDescription>, String>>(resources.list, call.clone(), |_| ());
        listed.resources = Some(answer(asked.await)?);
        let asked =
            program.invoke::<(), Result<Vec<ResourceTemplate>, String>>(resources.templates, call.clone(), |_| ());
        listed.templates = answer(asked.await)?;
    }
    if let Some(prompts) = program.exports.prompts {
        let asked = program.invoke::<(), Result<Vec<Prompt>, String>>(prompts.list, call, |_| ());
        listed.prompts = Some(answer(asked.await)?);
    }
    listed.completions = program.exports.completions.is_some();
    listed.freeze()
}

fn answer<T>(asked: Result<Result<T, String>, Fault>) -> Result<T, LoadError> {
    match asked {
        Ok(Ok(list)) => Ok(list),
        Ok(Err(why)) => Err(LoadError::listing_refused(&why)),
        Err(Fault::Timeout { .. } | Fault::Cpu { .. }) => Err(LoadError::ListingTimeout),
        Err(Fault::Trap) => Err(LoadError::ListingTrap),
        Err(fault) => Err(LoadError::ListingFault(fault)),
    }
}

impl Plugin {
    /// What was dropped from its lists, and why; for people.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same component asked again what it offers, as a plugin of its own; for when it
    /// says that a list has changed.
    ///
    /// # Errors
    /// As [`Sandbox::load`]; this plugin goes on as it was.
    pub async fn list_again(&self) -> Result<Plugin, LoadError> {
        let (surface, warnings) = list(&self.program).await?;
        Ok(Plugin { program: self.program.clone(), surface, warnings })
    }
}

#[async_trait]
impl Provider for Plugin {
    fn id(&self) -> &PluginId {
        &self.program.id
    }

    fn digest(&self) -> &Digest {
        &self.program.digest
    }

    fn surface(&self) -> &Surface {
        &self.surface
    }

    async fn call_tool(&self, name: &str, arguments: &str, call: Call) -> Result<ToolOutcome, CallError> {
        let (Some(tools), Some(tool)) = (self.program.exports.tools, self.surface.tool(name)) else {
            return Err(CallError::Guest(GuestError::NotFound));
        };
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        let asked = self.program.invoke(tools.call, call, |context| (name, arguments, context));
        let outcome: Result<_, GuestError> = asked.await?;
        let outcome = outcome.map_err(outcome::guest_error)?;
        Ok(outcome::tool(outcome, tool, self.program.limits.output)?)
    }

    async fn read_resource(&self, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let Some(resources) = self.program.exports.resources else {
            return Err(CallError::Guest(GuestError::NotFound));
        };
        let uri = uri.to_owned();
        let asked = self.program.invoke(resources.read, call, |context| (uri, context));
        let outcome: Result<_, GuestError> = asked.await?;
        let outcome = outcome.map_err(outcome::guest_error)?;
        Ok(outcome::read(outcome, self.program.limits.output)?)
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let Some(prompts) = self.program.exports.prompts else {
            return Err(CallError::Guest(GuestError::NotFound));
        };
        let name = name.to_owned();
        let asked = self.program.invoke(prompts.get, call, |context| (name, arguments, context));
        let outcome: Result<_, GuestError> = asked.await?;
        let outcome = outcome.map_err(outcome::guest_error)?;
        Ok(outcome::prompt(outcome, self.program.limits.output)?)
    }

    async fn complete(
        &self,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let Some(completions) = self.program.exports.completions else {
            return Err(CallError::Guest(GuestError::NotFound));
        };
        let (name, value) = (name.to_owned(), value.to_owned());
        let asked = self.program.invoke(completions.complete, call, |context| (subject, name, value, given, context));
        let outcome: Result<_, GuestError> = asked.await?;
        let completion = outcome.map_err(outcome::guest_error)?;
        Ok(outcome::completion(completion, self.program.limits.output)?)
    }
}

//! Dialects, the interface families of components: `wharf:plugin`, wasmcp, ACT, plain functions,
//! commands, and MCP servers in HTTP handlers.
//!
//! A new dialect is a module here and a line in [`ALL`].

mod act;
mod collect;
mod command;
pub(in crate::plugin) mod linked;
pub(in crate::plugin) mod peek;
pub mod plain;
mod server;
mod wasmcp;
mod wharf;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{ComponentNamedList, InstancePre, Lift, Linker, Lower};

use super::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::component::inspect;
use super::error::LoadError;
use super::fault::{CallError, Fault};
use super::imports::state::GuestState;
use super::instance::call::PreparedComponent;
use super::instance::function::Function;
use super::provider::Call;
use super::surface::{FrozenTool, Listed, ListingWarning, Surface};

pub use command::COMMAND_TOOL;

/// All dialects. The first that finds a callable export gets the component: a component that
/// exports an interface of `wharf:plugin` is served through these interfaces only.
const ALL: [Entry; 6] = [wharf::ENTRY, wasmcp::ENTRY, act::ENTRY, plain::ENTRY, server::ENTRY, command::ENTRY];

/// The dialect of a component, if it uses this one.
type Found = Result<Option<Box<dyn Dialect>>, LoadError>;

struct Entry {
    /// Adds this dialect's imports to the linker, in addition to those of all components.
    link: fn(&mut Linker<GuestState>) -> wasmtime::Result<()>,
    /// Finds a component's exports in this dialect, if there are any. The bytes are the component's.
    find: fn(&InstancePre<GuestState>, &[u8]) -> Found,
    /// Whether an export of this name provides completions.
    completes: fn(&str) -> bool,
}

/// Lists and calls one component.
#[async_trait]
pub(in crate::plugin) trait Dialect: Send + Sync {
    /// The component's lists, not yet checked.
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError>;

    /// How it is spoken to, if that is not the same for all components of this dialect; a text for people.
    fn spoken(&self) -> Option<String> {
        None
    }

    /// Checks the lists; also returns what was dropped, and why.
    fn freeze(&self, listed: Listed) -> Result<(Surface, Vec<ListingWarning>), LoadError> {
        listed.freeze()
    }

    /// `arguments` are the text of a JSON object.
    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError>;

    async fn read_resource(
        &self,
        prepared: &Arc<PreparedComponent>,
        uri: &str,
        call: Call,
    ) -> Result<ReadOutcome, CallError> {
        let _ = (prepared, uri, call);
        Err(NOT_FOUND)
    }

    async fn get_prompt(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let _ = (prepared, name, arguments, call);
        Err(NOT_FOUND)
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
        let _ = (prepared, subject, name, value, given, call);
        Err(NOT_FOUND)
    }

    /// A method of the plugin. `params` and the result are the text of a JSON object.
    async fn call_method(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        params: &str,
        call: Call,
    ) -> Result<String, CallError> {
        let _ = (prepared, name, params, call);
        Err(NOT_FOUND)
    }
}

/// The error for interfaces that are not exported.
const NOT_FOUND: CallError = CallError::Guest(GuestError::NotFound);

/// Why a list was not given: a fragment for people.
fn reason(error: CallError) -> String {
    match error {
        CallError::Guest(GuestError::NotFound) => "not found".into(),
        CallError::Guest(GuestError::Failed(reason)) => reason,
        CallError::Guest(GuestError::InvalidInput(input)) => input.reason,
        CallError::Input(_) => "invalid arguments".into(),
        CallError::Fault(Fault::BadOutput(why)) => why,
        CallError::Fault(fault) => fault.code().into(),
    }
}

/// Adds the imports of all dialects to the linker.
///
/// # Errors
/// If two dialects define the same function.
pub(in crate::plugin) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    ALL.iter().try_for_each(|dialect| (dialect.link)(linker))
}

/// Finds a component's dialect. `bytes` are the component's.
///
/// # Errors
/// If there is no callable export.
fn find(pre: &InstancePre<GuestState>, bytes: &[u8]) -> Result<Box<dyn Dialect>, LoadError> {
    for dialect in ALL {
        if let Some(found) = (dialect.find)(pre, bytes)? {
            return Ok(found);
        }
    }
    Err(inspect::no_interface(bytes))
}

/// The function of an exported interface whose name begins with that, which is without the patch version: all patch
/// versions have the same functions. `None`: there is no such interface.
fn function_of<P, R>(
    pre: &InstancePre<GuestState>,
    interface: &str,
    name: &str,
) -> Result<Option<Function<P, R>>, LoadError>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    let Some(interface) = exported(pre).into_iter().find(|exported| exported.starts_with(interface)) else {
        return Ok(None);
    };
    let Some(index) = pre.component().get_export_index(None, &interface) else { return Ok(None) };
    Function::find(pre, (&interface, &index), name).map(Some)
}

/// The names of a component's exports.
fn exported(pre: &InstancePre<GuestState>) -> Vec<String> {
    let component = pre.component();
    component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect()
}

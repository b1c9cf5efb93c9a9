//! The interfaces in which components offer something: our own, that of wasmcp, and none at all.
//!
//! A new one is a folder here and a line in [`ALL`].

pub(in crate::plugin) mod linked;
pub(in crate::plugin) mod peek;
pub mod plain;
mod wasmcp;
mod wharf;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::component::{InstancePre, Linker};

use super::abi::{Completion, GuestError, PromptOutcome, ReadOutcome, Subject, ToolOutcome};
use super::error::LoadError;
use super::fault::CallError;
use super::imports::state::State;
use super::instance::call::Program;
use super::provider::Call;
use super::surface::{FrozenTool, Listed, Surface};

/// Those that are known. The first that finds something it can call has the component: one that
/// exports any of our own interfaces is a plugin of those and of nothing else.
const ALL: [Entry; 3] = [wharf::ENTRY, wasmcp::ENTRY, plain::ENTRY];

/// The dialect of a component, if it is this one.
type Found = Result<Option<Box<dyn Dialect>>, LoadError>;

struct Entry {
    /// Gives components what they import beside what all may import.
    link: fn(&mut Linker<State>) -> wasmtime::Result<()>,
    /// Finds what a component exports in this dialect, if it does. The bytes are the component's.
    find: fn(&InstancePre<State>, &[u8]) -> Found,
    /// Whether a component with an export of this name has completions.
    completes: fn(&str) -> bool,
}

/// How one component is asked and called.
#[async_trait]
pub(in crate::plugin) trait Dialect: Send + Sync {
    /// What it offers, not yet checked.
    async fn list(&self, program: &Arc<Program>) -> Result<Listed, LoadError>;

    /// Checks what it offers; gives also what was dropped, and why.
    fn freeze(&self, listed: Listed) -> Result<(Surface, Vec<String>), LoadError> {
        listed.freeze()
    }

    /// `arguments` are the text of a JSON object.
    async fn call_tool(
        &self,
        program: &Arc<Program>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError>;

    async fn read_resource(&self, program: &Arc<Program>, uri: &str, call: Call) -> Result<ReadOutcome, CallError> {
        let _ = (program, uri, call);
        Err(NOT_FOUND)
    }

    async fn get_prompt(
        &self,
        program: &Arc<Program>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let _ = (program, name, arguments, call);
        Err(NOT_FOUND)
    }

    async fn complete(
        &self,
        program: &Arc<Program>,
        subject: Subject,
        name: &str,
        value: &str,
        given: Vec<(String, String)>,
        call: Call,
    ) -> Result<Completion, CallError> {
        let _ = (program, subject, name, value, given, call);
        Err(NOT_FOUND)
    }

    /// A method of its own. `params` is the text of a JSON object, and so is the result.
    async fn call_method(
        &self,
        program: &Arc<Program>,
        name: &str,
        params: &str,
        call: Call,
    ) -> Result<String, CallError> {
        let _ = (program, name, params, call);
        Err(NOT_FOUND)
    }
}

/// What a value takes in the host's memory, in times of what it takes in a result: a byte of a
/// `list<u8>` becomes a value of some tens of bytes.
const LIFTED: u64 = 8;

/// What is not exported is not there.
const NOT_FOUND: CallError = CallError::Guest(GuestError::NotFound);

/// Gives components what they import in any of the dialects.
///
/// # Errors
/// Two of them would define the same function.
pub(in crate::plugin) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    ALL.iter().try_for_each(|dialect| (dialect.link)(linker))
}

/// Finds a component's dialect. `bytes` are the component's.
///
/// # Errors
/// If there is nothing in it that could be called.
fn find(pre: &InstancePre<State>, bytes: &[u8]) -> Result<Box<dyn Dialect>, LoadError> {
    for dialect in ALL {
        if let Some(found) = (dialect.find)(pre, bytes)? {
            return Ok(found);
        }
    }
    Err(LoadError::no_interface(exported(pre)))
}

/// The names of a component's exports.
fn exported(pre: &InstancePre<State>) -> Vec<String> {
    let component = pre.component();
    component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect()
}

//! Commands: programs with a main function, which export `wasi:cli/run`. Each is one tool, whose input is its arguments
//! and its stdin, and whose result is what it prints.
//!
//! Listing runs no code of the component.

mod ended;
mod given;
mod tool;

pub use tool::NAME as COMMAND_TOOL;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::InstancePre;
use wasmtime_wasi::I32Exit;

use super::{Dialect, Entry, Found, NOT_FOUND};
use crate::plugin::abi::{CallContext, GuestError, ToolOutcome};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::program::Program;
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::instance::function::{BoundInstance, Function};
use crate::plugin::instance::invocation::Invocation;
use crate::plugin::outcome::checked;
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed};
use ended::Ended;
use given::Given;

pub(super) const ENTRY: Entry = Entry { link: |_| Ok(()), find, completes: |_| false };

/// In 0.3 the function is async, and otherwise the same.
const INTERFACES: [&str; 2] = ["wasi:cli/run@0.2.", "wasi:cli/run@0.3."];

type Run = Function<(), (Result<(), ()>,)>;

fn find(pre: &InstancePre<GuestState>, _: &[u8]) -> Found {
    for interface in INTERFACES {
        if let Some(run) = super::function_of(pre, interface, "run")? {
            return Ok(Some(Box::new(Command { run })));
        }
    }
    Ok(None)
}

struct Command {
    run: Run,
}

#[async_trait]
impl Dialect for Command {
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let tool = tool::described(&prepared.granted.grants.program).map_err(LoadError::CommandTool)?;
        Ok(Listed { tools: Some(vec![tool]), ..Listed::default() })
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        if tool.tool.name != tool::NAME {
            return Err(NOT_FOUND);
        }
        let invocation = Start {
            run: self.run.clone(),
            name: prepared.id.to_string(),
            arguments: arguments.clone(),
            limit: prepared.limits.output,
            json: prepared.granted.grants.program.json,
        };
        checked::tool(prepared, tool, arguments, invocation, call, |outcome| outcome).await
    }
}

/// One run of the program.
struct Start {
    run: Run,
    /// Its first argument, which is the name of a program by convention.
    name: String,
    arguments: Arc<str>,
    /// Maximum bytes of its stdout.
    limit: u64,
    json: bool,
}

impl Invocation for Start {
    type Outcome = Result<ToolOutcome, CallError>;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        _: CallContext,
    ) -> wasmtime::Result<Result<ToolOutcome, CallError>> {
        let Self { run, name, arguments, limit, json } = self;
        let given = match Given::read(&arguments) {
            Ok(given) => given,
            Err(wrong) => return Ok(Err(CallError::Guest(GuestError::InvalidInput(wrong)))),
        };
        drop(arguments);
        let program = Program::new(given.arguments(name), given.stdin, limit);
        let output = program.output.clone();
        store.data_mut().program = Some(program);
        let run = instance.function(&mut *store, &run)?;
        let ended = run.call_async(&mut *store, ()).await;
        // In 0.3 a program that is told of it may go on.
        if output.exceeded() {
            return Ok(Err(Fault::OutputTooLarge { limit }.into()));
        }
        let code = match ended {
            Ok((Ok(()),)) => 0,
            // What runtimes report for it.
            Ok((Err(()),)) => 1,
            Err(error) => match error.downcast_ref() {
                Some(I32Exit(code)) => *code,
                None => return Err(error),
            },
        };
        let ended = Ended { code, stdout: output.take_stdout(), stderr: output.take_stderr() };
        Ok(Ok(ToolOutcome::Complete(ended.result(json))))
    }
}

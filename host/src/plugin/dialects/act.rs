//! Components of ACT: tools of `act:tools/tool-provider`, versions 0.1 and 0.2, which differ only in where their types
//! are (ACT-SPEC, 3 and 4).
//!
//! A fresh instance for each call, as for all plugins: sessions (`act:sessions`) end with the call that opens them.

mod cbor;
mod convert;
mod types;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::collect::{Collector, How, TooLarge};
use super::{Dialect, Entry, Found, reason};
use crate::plugin::abi::{CallContext, Tool, ToolOutcome};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::{PreparedComponent, internal};
use crate::plugin::instance::cause;
use crate::plugin::instance::function::{BoundInstance, Function};
use crate::plugin::instance::invocation::{Invocation, LIFTED};
use crate::plugin::limits::Limits;
use crate::plugin::outcome::checked;
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed};
use types::{Error, ListToolsResponse, Metadata, ToolEvent, ToolResult};

pub(super) const ENTRY: Entry = Entry { link: |_| Ok(()), find, completes: |_| false };

const INTERFACES: [&str; 2] = ["act:tools/tool-provider@0.1.", "act:tools/tool-provider@0.2."];

type ListTools = Function<(Metadata,), (Result<ListToolsResponse, Error>,)>;
type CallTool = Function<(String, Vec<u8>, Metadata), (ToolResult,)>;

fn find(pre: &InstancePre<GuestState>, _: &[u8]) -> Found {
    for interface in INTERFACES {
        let list = super::function_of(pre, interface, "list-tools")?;
        if let (Some(list), Some(call)) = (list, super::function_of(pre, interface, "call-tool")?) {
            return Ok(Some(Box::new(Tools { list, call })));
        }
    }
    Ok(None)
}

struct Tools {
    list: ListTools,
    call: CallTool,
}

#[async_trait]
impl Dialect for Tools {
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let call = internal("list", Limits::LISTING);
        let tools = prepared.invoke(Listing(self.list.clone()), call).await.map_err(LoadError::of_fault)?;
        let tools = tools.map_err(|error| LoadError::listing_refused(&reason(error)))?;
        Ok(Listed { tools: Some(tools), ..Listed::default() })
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        let invocation = Calling {
            call: self.call.clone(),
            tool: tool.tool.name.clone(),
            arguments: arguments.clone(),
            limit: prepared.limits.output,
        };
        checked::tool(prepared, tool, arguments, invocation, call, |outcome| outcome).await
    }
}

struct Listing(ListTools);

impl Invocation for Listing {
    type Outcome = Result<Vec<Tool>, CallError>;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        _: CallContext,
    ) -> wasmtime::Result<Self::Outcome> {
        let function = instance.function(&mut *store, &self.0)?;
        let (listed,) = function.call_async(&mut *store, (Vec::new(),)).await?;
        Ok(listed.map(convert::tools).map_err(convert::failed))
    }
}

/// One call of a tool.
struct Calling {
    call: CallTool,
    tool: String,
    arguments: Arc<str>,
    /// Maximum bytes of the result.
    limit: u64,
}

impl Invocation for Calling {
    type Outcome = Result<ToolOutcome, CallError>;

    const LIFTED: u64 = LIFTED;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        context: CallContext,
    ) -> wasmtime::Result<Self::Outcome> {
        let Self { call, tool, arguments, limit } = self;
        let Some(arguments) = cbor::of_json(&arguments) else { return Ok(Err(Fault::Host.into())) };
        let metadata = convert::metadata(&context);
        let function = instance.function(&mut *store, &call)?;
        let calling = store.run_concurrent(async |accessor| {
            let (result,) = function.call_concurrent(accessor, (tool, arguments, metadata)).await?;
            let stream = match result {
                ToolResult::Immediate(events) => return Ok(Ok(events)),
                ToolResult::Streaming(stream) => stream,
            };
            let mut collector = Collector::new(limit);
            let how = How { size: ToolEvent::size, into: |event| event };
            accessor.with(|access| collector.stream(access, stream, how))?;
            Ok::<_, wasmtime::Error>(collector.whole().await.map(|parts| parts.into_iter().flatten().collect()))
        });
        let called: wasmtime::Result<Result<Vec<ToolEvent>, TooLarge>> = calling.await.flatten();
        let events = match called {
            Err(error) if cause::is_too_large_to_return(&error) => Err(TooLarge),
            called => called?,
        };
        let Ok(events) = events else { return Ok(Err(Fault::OutputTooLarge { limit }.into())) };
        Ok(convert::outcome(events, limit).await)
    }
}

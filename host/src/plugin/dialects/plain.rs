//! Plain components, which were not built for MCP: each exported function is a tool.
//!
//! Schemas follow from the function types, so listing runs no code of the component.

mod docs;
mod names;
mod number;
mod parts;
pub mod read;
mod schema;
mod shape;
pub mod write;

use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Func, InstancePre, Val};

use super::collect::TooLarge;
use super::{Dialect, Entry, Found, NOT_FOUND};

use crate::plugin::abi::{CallContext, Content, GuestError, InvalidInput, TextContent, Tool, ToolOutcome, ToolResult};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::PreparedComponent;
use crate::plugin::instance::cause;
use crate::plugin::instance::function::BoundInstance;
use crate::plugin::instance::invocation::{Invocation, LIFTED};
use crate::plugin::outcome::checked;
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed, ListingWarning, Surface};
use crate::text::quote;
use docs::Docs;
use names::FunctionPath;
pub use schema::{Direction, members as members_schema, schema};
use shape::Shapes;
pub use shape::{Shape, Sides, Width};
use write::WriteError;

/// Maximum functions examined; no toolchain's component has nearly as many.
const MAX_FUNCTIONS: usize = 1024;

pub(super) const ENTRY: Entry = Entry { link: |_| Ok(()), find, completes: |_| false };

/// Prefixes of interfaces for MCP hosts. In unknown versions their functions are not tools either.
const FOR_HOSTS: [&str; 3] = ["wharf:plugin/", "wasmcp:mcp-", "act:tools/"];

fn find(pre: &InstancePre<GuestState>, bytes: &[u8]) -> Found {
    let for_hosts = |name: &String| FOR_HOSTS.iter().any(|host| name.starts_with(host));
    if super::exported(pre).iter().any(for_hosts) {
        return Ok(None);
    }
    let functions = Functions::find(pre.component(), bytes);
    match (functions.is_empty(), functions.remarks.is_empty()) {
        (false, _) => Ok(Some(Box::new(functions))),
        (true, true) => Ok(None),
        (true, false) => Err(LoadError::no_function(&functions.remarks)),
    }
}

/// The functions of a plain component that can be tools.
#[derive(Clone)]
struct Functions {
    all: Arc<[Function]>,
    /// Why other functions are no tools, and what is wrong with these; for people.
    remarks: Arc<[ListingWarning]>,
}

struct Function {
    tool: Tool,
    wassette: String,
    index: ComponentExportIndex,
    is_async: bool,
    params: Params,
    result: Arc<Returned>,
}

/// What a function returns.
struct Returned {
    /// The type of a success, if any.
    success: Option<Shape>,
    /// The type of an error; the outer option is whether the function returns a `result`.
    error: Option<Option<Shape>>,
    /// The type as a whole, if it has streams or futures.
    in_parts: Option<Shape>,
}

impl Functions {
    /// Finds the functions of a component; its bytes are for the documentation.
    fn find(component: &Component, bytes: &[u8]) -> Self {
        let mut remarks = Vec::new();
        let mut exported = exported(component);
        if exported.len() > MAX_FUNCTIONS {
            let more = exported.len() - MAX_FUNCTIONS;
            remarks.push(ListingWarning::NotExamined { more, examined: MAX_FUNCTIONS });
            exported.truncate(MAX_FUNCTIONS);
        }
        let mut served = Vec::new();
        for export in &exported {
            let function = quote(&export.function, 120);
            let interface = export.interface.as_ref().map(|interface| quote(interface, 120));
            match shapes(&export.kind) {
                Ok(shapes) => {
                    if shapes.1.in_parts.is_some() && !export.kind.async_() {
                        remarks.push(ListingWarning::NotAsync { function, interface });
                    }
                    served.push((export, shapes));
                }
                Err(why) => remarks.push(ListingWarning::NoTool { function, interface, why }),
            }
        }
        let paths: Vec<FunctionPath<'_>> = served.iter().map(|(export, _)| export.path()).collect();
        let names = names::short(&paths);
        let docs = Docs::of(bytes);
        let functions = served.iter().zip(names).map(|((export, (params, result)), name)| {
            let path = export.path();
            Function {
                tool: tool(name, description(&docs, &path), params, result),
                wassette: path.wassette(),
                index: export.index,
                is_async: export.kind.async_(),
                params: params.clone(),
                result: result.clone(),
            }
        });
        Self { all: functions.collect(), remarks: remarks.into() }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn named(&self, tool: &str) -> Option<&Function> {
        self.all.iter().find(|function| function.tool.name == tool)
    }
}

#[async_trait]
impl Dialect for Functions {
    async fn list(&self, _: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let tools = self.all.iter().map(|function| function.tool.clone()).collect();
        Ok(Listed { tools: Some(tools), ..Listed::default() })
    }

    fn freeze(&self, listed: Listed) -> Result<(Surface, Vec<ListingWarning>), LoadError> {
        let (mut surface, mut dropped) = listed.freeze()?;
        dropped.extend(self.remarks.iter().cloned());
        let tools = surface.tools.as_deref_mut().unwrap_or_default();
        if tools.is_empty() {
            return Err(LoadError::no_function(&dropped));
        }
        for frozen in tools {
            frozen.long_name = self.named(&frozen.tool.name).map(|function| function.wassette.clone());
        }
        Ok((surface, dropped))
    }

    async fn call_tool(
        &self,
        prepared: &Arc<PreparedComponent>,
        tool: &FrozenTool,
        arguments: Arc<str>,
        call: Call,
    ) -> Result<ToolOutcome, CallError> {
        let function = self.named(&tool.tool.name).ok_or(NOT_FOUND)?;
        let invocation = FunctionCall {
            index: function.index,
            is_async: function.is_async,
            params: function.params.clone(),
            result: function.result.clone(),
            arguments: arguments.clone(),
            limit: prepared.limits.output,
        };
        checked::tool(prepared, tool, arguments, invocation, call, |outcome| outcome).await
    }
}

/// Whether it is an initializer that a toolchain calls at build time and leaves in the component: that of componentize-py
/// in the interface `exports`, that of componentize-qjs outside of interfaces.
fn is_build_initializer(interface: Option<&str>, function: &str, kind: &ComponentFunc) -> bool {
    match interface {
        Some(interface) => (interface, function) == ("exports", "init"),
        None => function == "init" && kind.params().take(2).map(|(name, _)| name).eq(["shim", "script"]),
    }
}

/// An exported function.
struct Export {
    interface: Option<String>,
    function: String,
    kind: ComponentFunc,
    index: ComponentExportIndex,
}

impl Export {
    fn path(&self) -> FunctionPath<'_> {
        FunctionPath { interface: self.interface.as_deref(), function: &self.function }
    }
}

/// All exported functions except those of WASI, such as `wasi:cli/run` and HTTP handlers.
fn exported(component: &Component) -> Vec<Export> {
    let engine = component.engine();
    let mut found = Vec::new();
    let mut add = |interface: Option<(&str, &ComponentExportIndex)>, function: &str, item: ComponentItem| {
        let index = component.get_export_index(interface.map(|(_, index)| index), function);
        if let (ComponentItem::ComponentFunc(kind), Some(index)) = (item, index) {
            let interface = interface.map(|(name, _)| name.to_owned());
            if is_build_initializer(interface.as_deref(), function, &kind) {
                return;
            }
            found.push(Export { interface, function: function.to_owned(), kind, index });
        }
    };
    for (name, item) in component.component_type().exports(engine) {
        match item.ty {
            ComponentItem::ComponentInstance(instance) if !name.starts_with("wasi:") => {
                let Some(index) = component.get_export_index(None, name) else { continue };
                for (function, item) in instance.exports(engine) {
                    add(Some((name, &index)), function, item.ty);
                }
            }
            item => add(None, name, item),
        }
    }
    found
}

/// Parameters by name.
type Params = Arc<[(String, Shape)]>;

/// The shapes of a function's parameters and result.
fn shapes(kind: &ComponentFunc) -> Result<(Params, Arc<Returned>), String> {
    let mut shapes = Shapes::of_one_function();
    let mut params = Vec::new();
    for (name, kind) in kind.params() {
        params.push((shapes.name(name)?, shapes.shape(&kind)?));
    }
    let mut results = kind.results();
    let returned = results.next().map(|kind| shapes.shape(&kind)).transpose()?;
    if results.next().is_some() {
        return Err("returns more than one value".into());
    }
    let in_parts = returned.clone().filter(parts::has_parts);
    let returned = match returned {
        Some(Shape::Result(sides)) => Returned { success: sides.ok, error: Some(sides.err), in_parts },
        success => Returned { success, error: None, in_parts },
    };
    Ok((params.into(), Arc::new(returned)))
}

fn description(docs: &Docs, path: &FunctionPath<'_>) -> String {
    docs.function(path.interface, path.function).unwrap_or_else(|| match path.interface {
        None => format!("The function `{}`.", path.function),
        Some(interface) => format!("The function `{}` of `{interface}`.", path.function),
    })
}

fn tool(name: String, description: String, params: &[(String, Shape)], result: &Returned) -> Tool {
    Tool {
        description: Some(description),
        output_schema: result.success.as_ref().map(|shape| schema::schema(shape, Direction::Out)),
        ..Tool::new(name, schema::members(params, Direction::In))
    }
}

/// One call of a function.
struct FunctionCall {
    index: ComponentExportIndex,
    is_async: bool,
    params: Params,
    result: Arc<Returned>,
    arguments: Arc<str>,
    /// Maximum bytes of the result as JSON text.
    limit: u64,
}

impl Invocation for FunctionCall {
    type Outcome = Result<ToolOutcome, CallError>;

    const LIFTED: u64 = LIFTED;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        _: CallContext,
    ) -> wasmtime::Result<Result<ToolOutcome, CallError>> {
        let mut params = match read::members(&self.arguments, &self.params) {
            Ok((params, made)) => {
                // The arguments live as long as the call.
                if !store.data_mut().quota.grow((made * size_of::<Val>()) as u64) {
                    wasmtime::bail!("the arguments exceed the memory limit");
                }
                params
            }
            Err(read::Mismatch { path, reason }) => {
                return Ok(Err(CallError::Guest(GuestError::InvalidInput(InvalidInput { path, reason }))));
            }
        };
        for (param, (_, shape)) in params.iter_mut().zip(&*self.params) {
            parts::give(&mut *store, param, shape)?;
        }
        let called = match &self.result.in_parts {
            None => {
                let returns = self.result.success.is_some() || self.result.error.is_some();
                instance.call_dynamic(store, &self.index, &params, returns).await.map(|result| result.map(Ok))
            }
            Some(shape) => match instance.dynamic(&mut *store, &self.index) {
                None => Ok(None),
                Some(function) => collected(store, function, &params, shape, self.limit).await.map(Some),
            },
        };
        let result = match called {
            Err(error) if self.is_async && cause::is_too_large_to_return(&error) => Some(Err(TooLarge)),
            called => called?,
        };
        Ok(match result {
            Some(Ok(result)) => self.result.outcome(&result, self.limit),
            Some(Err(TooLarge)) => Err(Fault::OutputTooLarge { limit: self.limit }.into()),
            None => Err(Fault::Host.into()),
        })
    }
}

/// Calls a function, and waits for all that its result brings later.
async fn collected(
    store: &mut Store<GuestState>,
    function: Func,
    params: &[Val],
    shape: &Shape,
    limit: u64,
) -> wasmtime::Result<Result<Val, TooLarge>> {
    let collecting = store.run_concurrent(async |accessor| {
        let mut results = [Val::Bool(false)];
        function.call_concurrent(accessor, params, &mut results).await?;
        let [mut result] = results;
        let collector = accessor.with(|access| parts::begin(access, &mut result, shape, limit))?;
        let Ok(whole) = collector.whole().await else { return Ok(Err(TooLarge)) };
        parts::fill(&mut result, shape, whole)?;
        Ok(Ok(result))
    });
    collecting.await?
}

impl Returned {
    fn outcome(&self, value: &Val, limit: u64) -> Result<ToolOutcome, CallError> {
        let max_bytes = usize::try_from(limit).unwrap_or(usize::MAX);
        let written = |value: &Val, shape: &Shape| {
            write::write(value, shape, max_bytes).map_err(|why| match why {
                WriteError::TooLarge => Fault::OutputTooLarge { limit },
                WriteError::Mismatch => Fault::BadOutput("a value that does not match the function's type".into()),
            })
        };
        let value = match (&self.error, value) {
            (None, value) => Some(value),
            (Some(_), Val::Result(Ok(value))) => value.as_deref(),
            (Some(error), Val::Result(Err(value))) => {
                let message = match (value.as_deref(), error) {
                    (Some(Val::String(text)), _) => text.clone(),
                    (Some(value), Some(shape)) => written(value, shape)?,
                    _ => "the function failed without an error message".into(),
                };
                return Err(CallError::Guest(GuestError::Failed(message)));
            }
            _ => return Err(Fault::BadOutput("no result, though the function returns one".into()).into()),
        };
        let mut result = ToolResult { content: Vec::new(), structured: None, is_error: false, meta: None };
        if let (Some(shape), Some(value)) = (&self.success, value) {
            result.structured = Some(written(value, shape)?);
            // A string is shown plain, without quotes and escapes.
            if let Val::String(text) = value {
                result.content.push(Content::Text(TextContent::new(text.clone())));
            }
        }
        Ok(ToolOutcome::Complete(result))
    }
}

#[cfg(test)]
mod tests;

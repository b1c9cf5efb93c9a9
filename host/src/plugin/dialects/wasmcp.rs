//! Components for wasmcp: tools, resources, prompts and completions of
//! `wasmcp:mcp-v20251125@0.1`.
//!
//! Functions and members are looked up by name; those that later versions add are ignored.

mod convert;
mod link;
mod view;

use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Type, Val};

use super::{Dialect, Entry, Found, NOT_FOUND};

use crate::json::{quote as json_text, write_str};
use crate::plugin::abi::{
    CallContext, Completion, GuestError, Prompt, PromptOutcome, ReadOutcome, ResourceDescription, ResourceTemplate,
    Subject, Tool, ToolOutcome,
};
use crate::plugin::error::LoadError;
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::call::{PreparedComponent, internal};
use crate::plugin::instance::function::BoundInstance;
use crate::plugin::instance::invocation::{Invocation, LIFTED};
use crate::plugin::limits::Limits;
use crate::plugin::outcome::checked;
use crate::plugin::policy::redact::{Redactable, Redactor};
use crate::plugin::provider::Call;
use crate::plugin::surface::{FrozenTool, Listed, MAX_ENTRIES};
use crate::text::quote;
use view::View;

/// The prefix of its interfaces, and the compatible versions.
const PACKAGE: &str = "wasmcp:mcp-v20251125/";
const VERSION: &str = "@0.1.";
/// The protocol revision in the context of each call.
const REVISION: &str = "2025-11-25";

pub(super) const ENTRY: Entry =
    Entry { link: link::link, find, completes: |export| interface(export) == Some("completions") };

fn find(pre: &InstancePre<GuestState>, _: &[u8]) -> Found {
    let exports = Exports::find(pre.component())?;
    Ok((!exports.is_empty()).then(|| Box::new(exports) as _))
}

/// The name of an exported interface, if it is one of wasmcp's.
fn interface(export: &str) -> Option<&str> {
    let (name, version) = export.strip_prefix(PACKAGE)?.split_at_checked(export.find(VERSION)? - PACKAGE.len())?;
    let known = ["tools", "resources", "prompts", "completions"].contains(&name);
    (known && version.len() > VERSION.len()).then_some(name)
}

/// A component's functions. `None`: the component does not export the interface.
#[derive(Clone)]
struct Exports {
    tools: Option<[Function; 2]>,
    resources: Option<[Function; 3]>,
    prompts: Option<[Function; 2]>,
    completions: Option<Function>,
}

/// A function, which takes a context and a request.
#[derive(Clone)]
struct Function {
    index: ComponentExportIndex,
    /// The context, the same for each call: without client, session and identity.
    context: Val,
    request: Type,
}

impl Exports {
    /// Looks them up.
    ///
    /// # Errors
    /// If a function is missing, or has unknown parameters.
    fn find(component: &Component) -> Result<Self, LoadError> {
        let engine = component.engine();
        let kind = component.component_type();
        let mut found = Self { tools: None, resources: None, prompts: None, completions: None };
        for (export, _) in kind.exports(engine) {
            let function = |name| Function::find(component, export, name);
            match interface(export) {
                Some("tools") => found.tools = Some([function("list-tools")?, function("call-tool")?]),
                Some("resources") => {
                    let [list, templates] = [function("list-resources")?, function("list-resource-templates")?];
                    found.resources = Some([list, templates, function("read-resource")?]);
                }
                Some("prompts") => found.prompts = Some([function("list-prompts")?, function("get-prompt")?]),
                Some(_) => found.completions = Some(function("complete")?),
                None => {}
            }
        }
        Ok(found)
    }

    fn is_empty(&self) -> bool {
        self.tools.is_none() && self.resources.is_none() && self.prompts.is_none() && self.completions.is_none()
    }

    fn call(&self, name: String, arguments: &str) -> Option<Request<ToolOutcome>> {
        let [_, call] = self.tools.as_ref()?;
        let arguments = Val::Option(Some(Box::new(Val::String(arguments.to_owned()))));
        Some(call.request(&[("name", Val::String(name)), ("arguments", arguments)], convert::called))
    }

    fn read(&self, uri: String) -> Option<Request<ReadOutcome>> {
        let [.., read] = self.resources.as_ref()?;
        Some(read.request(&[("uri", Val::String(uri))], convert::read))
    }

    fn get(&self, name: String, given: &[(String, String)]) -> Option<Request<PromptOutcome>> {
        let [_, get] = self.prompts.as_ref()?;
        Some(get.request(&[("name", Val::String(name)), ("arguments", some_object(given))], convert::got))
    }

    fn suggest(
        &self,
        subject: Subject,
        name: String,
        value: String,
        given: &[(String, String)],
    ) -> Option<Request<Completion>> {
        let text = |name: &str, value: String| (name.to_owned(), Val::String(value));
        let reference = match subject {
            Subject::Prompt(prompt) => {
                let reference = vec![text("name", prompt), ("title".into(), Val::Option(None))];
                Val::Variant("prompt".into(), Some(Box::new(Val::Record(reference))))
            }
            Subject::ResourceTemplate(uri) => {
                Val::Variant("resource-template".into(), Some(Box::new(Val::String(uri))))
            }
        };
        let argument = Val::Record(vec![text("name", name), text("value", value)]);
        let context = Val::Record(vec![("arguments".into(), some_object(given))]);
        let context = Val::Option(Some(Box::new(context)));
        let request = [("argument", argument), ("ref", reference), ("context", context)];
        Some(self.completions.as_ref()?.request(&request, convert::completed))
    }
}

#[async_trait]
impl Dialect for Exports {
    /// Its lists have pages, which share one deadline.
    async fn list(&self, prepared: &Arc<PreparedComponent>) -> Result<Listed, LoadError> {
        let call = internal("list", Limits::LISTING);
        let mut listed = Listed { completions: self.completions.is_some(), ..Listed::default() };
        if let Some([list, _]) = &self.tools {
            listed.tools = Some(pages(prepared, &call, |cursor| list.tools(cursor)).await?);
        }
        if let Some([list, templates, _]) = &self.resources {
            listed.resources = Some(pages(prepared, &call, |cursor| list.resources(cursor)).await?);
            listed.templates = pages(prepared, &call, |cursor| templates.templates(cursor)).await?;
        }
        if let Some([list, _]) = &self.prompts {
            listed.prompts = Some(pages(prepared, &call, |cursor| list.prompts(cursor)).await?);
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
        let request = self.call(tool.tool.name.clone(), &arguments).ok_or(NOT_FOUND)?;
        checked::tool(prepared, tool, arguments, request, call, |outcome| outcome).await
    }

    async fn read_resource(
        &self,
        prepared: &Arc<PreparedComponent>,
        uri: &str,
        call: Call,
    ) -> Result<ReadOutcome, CallError> {
        let request = self.read(uri.to_owned()).ok_or(NOT_FOUND)?;
        checked::any(prepared, request, call, |outcome| outcome, checked::read).await
    }

    async fn get_prompt(
        &self,
        prepared: &Arc<PreparedComponent>,
        name: &str,
        arguments: Vec<(String, String)>,
        call: Call,
    ) -> Result<PromptOutcome, CallError> {
        let request = self.get(name.to_owned(), &arguments).ok_or(NOT_FOUND)?;
        checked::any(prepared, request, call, |outcome| outcome, checked::prompt).await
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
        let request = self.suggest(subject, name.to_owned(), value.to_owned(), &given).ok_or(NOT_FOUND)?;
        checked::any(prepared, request, call, |outcome| outcome, checked::completion).await
    }
}

/// All pages of a list; stops once there are more entries than allowed.
async fn pages<T: Redactable + Send + 'static>(
    prepared: &Arc<PreparedComponent>,
    call: &Call,
    request: impl Fn(Option<String>) -> Request<Page<T>>,
) -> Result<Vec<T>, LoadError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..=MAX_ENTRIES {
        let outcome = prepared.invoke(request(cursor), call.clone()).await;
        let page = LoadError::of_listing(match outcome {
            Ok(Ok(page)) => Ok(Ok(page)),
            Ok(Err(CallError::Fault(fault))) | Err(fault) => Err(fault),
            Ok(Err(CallError::Guest(error))) => Ok(Err(reason_of(error))),
            Ok(Err(CallError::Input(_))) => Err(Fault::Host),
        })?;
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() || all.len() > MAX_ENTRIES {
            return Ok(all);
        }
    }
    Err(LoadError::ListingTooLarge { what: "pages", limit: MAX_ENTRIES })
}

fn reason_of(error: GuestError) -> String {
    match error {
        GuestError::NotFound => "not found".into(),
        GuestError::Failed(reason) => reason,
        GuestError::InvalidInput(input) => input.reason,
    }
}

/// A function that returns pages of a list.
impl Function {
    fn tools(&self, cursor: Option<String>) -> Request<Page<Tool>> {
        self.request(&[("cursor", some_text(cursor))], |page| Page::of(page, "tools", convert::tool))
    }

    fn resources(&self, cursor: Option<String>) -> Request<Page<ResourceDescription>> {
        self.request(&[("cursor", some_text(cursor))], |page| Page::of(page, "resources", convert::resource))
    }

    fn templates(&self, cursor: Option<String>) -> Request<Page<ResourceTemplate>> {
        self.request(&[("cursor", some_text(cursor))], |page| Page::of(page, "resource-templates", convert::template))
    }

    fn prompts(&self, cursor: Option<String>) -> Request<Page<Prompt>> {
        self.request(&[("cursor", some_text(cursor))], |page| Page::of(page, "prompts", convert::prompt))
    }

    fn find(component: &Component, interface: &str, name: &str) -> Result<Self, LoadError> {
        let full = || format!("{}.{name}", quote(interface, 120));
        let instance = component.get_export_index(None, interface);
        let Some((item, index)) = component.get_export(instance.as_ref(), name) else {
            return Err(LoadError::MissingFunction(full()));
        };
        let ComponentItem::ComponentFunc(kind) = item else { return Err(LoadError::WrongType(full())) };
        let mut params = kind.params().map(|(_, kind)| kind);
        let (Some(context), Some(request), None) = (params.next(), params.next(), params.next()) else {
            return Err(LoadError::WrongType(full()));
        };
        let nothing = || Val::List(Vec::new());
        let frame = Val::Record(vec![("prefix".into(), nothing()), ("suffix".into(), nothing())]);
        let given = [("protocol-version", Val::String(REVISION.into())), ("frame", frame)];
        let context = record(&context, &given).ok_or_else(|| LoadError::WrongType(full()))?;
        Ok(Self { index, context, request })
    }

    fn request<R>(&self, given: &[(&str, Val)], read: fn(View<'_>) -> Result<R, Fault>) -> Request<R> {
        // A record of another type is reported by the engine, which compares types.
        let request = record(&self.request, given).unwrap_or(Val::Bool(false));
        Request { index: self.index, params: [self.context.clone(), request], read, result: PhantomData }
    }
}

/// A record of that type; members that are not given must be optional.
fn record(kind: &Type, given: &[(&str, Val)]) -> Option<Val> {
    let Type::Record(kind) = kind else { return None };
    let fields = kind.fields().map(|field| {
        let value = given.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value.clone());
        let absent = matches!(field.ty, Type::Option(_)).then_some(Val::Option(None));
        Some((field.name.to_owned(), value.or(absent)?))
    });
    fields.collect::<Option<Vec<_>>>().map(Val::Record)
}

fn some_text(text: Option<String>) -> Val {
    Val::Option(text.map(|text| Box::new(Val::String(text))))
}

/// Texts by name, as a JSON object.
fn some_object(members: &[(String, String)]) -> Val {
    let mut object = "{".to_owned();
    for (at, (name, value)) in members.iter().enumerate() {
        if at > 0 {
            object.push(',');
        }
        object += &json_text(name);
        object.push(':');
        write_str(&mut object, value);
    }
    object.push('}');
    some_text(Some(object))
}

/// A page of a list, with the cursor of the next one.
struct Page<T> {
    items: Vec<T>,
    next: Option<String>,
}

impl<T> Page<T> {
    fn of(page: View<'_>, list: &'static str, read: fn(View<'_>) -> Result<T, Fault>) -> Result<Self, Fault> {
        Ok(Self { items: page.at(list)?.each(read)?, next: page.maybe_text("next-cursor")? })
    }
}

impl<T: Redactable> Redactable for Page<T> {
    fn redact(&mut self, redactor: &Redactor) {
        let Self { items, next: _ } = self;
        items.redact(redactor);
    }
}

/// One call of a function.
struct Request<R> {
    index: ComponentExportIndex,
    params: [Val; 2],
    read: fn(View<'_>) -> Result<R, Fault>,
    result: PhantomData<fn() -> R>,
}

impl<R: Redactable + Send + 'static> Invocation for Request<R> {
    type Outcome = Result<R, CallError>;

    const LIFTED: u64 = LIFTED;

    async fn run(
        self,
        store: &mut Store<GuestState>,
        instance: &BoundInstance,
        _: CallContext,
    ) -> wasmtime::Result<Result<R, CallError>> {
        let Some(result) = instance.call_dynamic(store, &self.index, &self.params, true).await? else {
            return Ok(Err(Fault::Host.into()));
        };
        Ok(self.outcome(&result))
    }
}

impl<R> Request<R> {
    /// `result<R, error-code>` of the lists, `result<option<R>, error-code>` of the others, where
    /// `none` means not found.
    fn outcome(&self, value: &Val) -> Result<R, CallError> {
        let value = match value {
            Val::Result(Ok(Some(value))) => &**value,
            Val::Result(Err(Some(error))) => {
                return Err(CallError::Guest(convert::error(View::of(error, "an error"))?));
            }
            other => other,
        };
        let value = match value {
            Val::Option(None) => return Err(CallError::Guest(GuestError::NotFound)),
            Val::Option(Some(value)) => value,
            value => value,
        };
        Ok((self.read)(View::of(value, "a result"))?)
    }
}

#[cfg(test)]
mod tests;

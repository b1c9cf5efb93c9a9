//! Tools: their listing, and the results of their calls.

use serde::Serialize;

use super::content::{Block, Icon, icons, meta};
use crate::json::{Kind, Object, Raw};
use crate::plugin::abi::{self, TaskSupport, ToolResult};
use crate::plugin::{FrozenTool, Wrapping};
use crate::protocol::Revision;
use crate::protocol::revision::StructuredContent;

/// The wire's `Tool`, under its public name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Raw<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<Icon<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Execution>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Object<'a>>,
}

#[derive(Serialize, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destructive_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hint: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_world_hint: Option<bool>,
}

impl<'a> Tool<'a> {
    pub(in crate::server) fn new(revision: Revision, name: &'a str, frozen: &'a FrozenTool) -> Self {
        let tool = &frozen.tool;
        let title = tool.title.as_deref();
        Self {
            name,
            title: title.filter(|_| revision.has_title()),
            description: tool.description.as_deref(),
            input_schema: Raw(&tool.input_schema),
            output_schema: output_schema(revision, frozen).map(Raw),
            // Revisions without `title` have it in the annotations.
            annotations: Annotations::new(revision, tool.annotations.as_ref(), title.filter(|_| !revision.has_title())),
            icons: icons(revision, &tool.icons),
            execution: Execution::new(revision, tool.task_support),
            meta: meta(revision, tool.meta.as_deref()),
        }
    }
}

/// The wire's `ToolExecution` (2025-11-25 alone: later the server decides).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    task_support: &'static str,
}

impl Execution {
    fn new(revision: Revision, support: TaskSupport) -> Option<Self> {
        let task_support = match support {
            TaskSupport::Optional => "optional",
            TaskSupport::Required => "required",
            TaskSupport::Forbidden => return None,
        };
        revision.has_core_tasks().then_some(Self { task_support })
    }
}

impl<'a> Annotations<'a> {
    fn new(revision: Revision, hints: Option<&abi::ToolAnnotations>, title: Option<&'a str>) -> Option<Self> {
        let hint = |hint: fn(&abi::ToolAnnotations) -> Option<bool>| hints.and_then(hint);
        let all = Self {
            title,
            read_only_hint: hint(|hints| hints.read_only),
            destructive_hint: hint(|hints| hints.destructive),
            idempotent_hint: hint(|hints| hints.idempotent),
            open_world_hint: hint(|hints| hints.open_world),
        };
        (revision.has_tool_annotations() && all != Self::default()).then_some(all)
    }
}

/// Clients of 2025-06-18 and 2025-11-25 reject a whole list for one schema whose root is not an
/// object, and a whole result for such a value: both are wrapped, or both are omitted.
fn output_schema(revision: Revision, frozen: &FrozenTool) -> Option<&str> {
    let own = frozen.tool.output_schema.as_deref();
    match (revision.structured_content(), &frozen.wrapping) {
        (StructuredContent::Any, _) | (StructuredContent::Object, Wrapping::None) => own,
        (StructuredContent::Object, Wrapping::Result(schema)) => Some(schema),
        (StructuredContent::None, _) | (StructuredContent::Object, Wrapping::Impossible) => None,
    }
}

/// The wire's `CallToolResult`, without `_meta`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::server) struct CallToolResult<'a> {
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Structured<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Structured<'a> {
    Own(Raw<'a>),
    Wrapped { result: Raw<'a> },
}

impl<'a> CallToolResult<'a> {
    pub(in crate::server) fn new(revision: Revision, frozen: &FrozenTool, result: &'a ToolResult) -> Self {
        let structured = result.structured.as_deref();
        let mut content: Vec<_> = result.content.iter().map(|content| Block::new(revision, content)).collect();
        if content.is_empty()
            && let Some(structured) = structured
        {
            content.push(Block::text(structured));
        }
        Self {
            content,
            structured_content: structured.and_then(|value| Structured::new(revision, frozen, value)),
            is_error: result.is_error.then_some(true),
        }
    }

    /// A failed call, described by a text.
    pub(in crate::server) fn failed(text: &'a str) -> Self {
        Self { content: vec![Block::text(text)], structured_content: None, is_error: Some(true) }
    }
}

impl<'a> Structured<'a> {
    fn new(revision: Revision, frozen: &FrozenTool, value: &'a str) -> Option<Self> {
        let raw = Raw(value);
        match (revision.structured_content(), &frozen.wrapping) {
            (StructuredContent::Any, _) => Some(Self::Own(raw)),
            (StructuredContent::Object, Wrapping::Result(_)) => Some(Self::Wrapped { result: raw }),
            (StructuredContent::Object, Wrapping::None) if Kind::of_text(value) == Kind::Object => Some(Self::Own(raw)),
            (StructuredContent::None | StructuredContent::Object, _) => None,
        }
    }
}

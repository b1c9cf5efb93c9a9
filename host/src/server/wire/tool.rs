//! Tools: how they are listed, and what their calls return.

use std::borrow::Cow;

use super::{Block, Object};
use crate::json::Kind;
use crate::plugin::abi::{ToolAnnotations, ToolResult};
use crate::plugin::{FrozenTool, Wrapping};
use crate::protocol::Revision;
use crate::protocol::revision::StructuredContent;

/// The wire's `Tool`, under its public name.
pub(in crate::server) fn descriptor(revision: Revision, name: &str, frozen: &FrozenTool) -> String {
    let tool = &frozen.tool;
    let title = tool.title.as_deref();
    let mut object = Object::default()
        .string("name", name)
        .optional_string("title", title.filter(|_| revision.has_title()))
        .optional_string("description", tool.description.as_deref())
        .raw("inputSchema", &tool.input_schema)
        .optional_raw("outputSchema", output_schema(revision, frozen));
    if revision.has_tool_annotations() {
        // Where there is no title yet, annotations have one.
        let title = title.filter(|_| !revision.has_title());
        let annotations = annotations(tool.annotations.as_ref(), title);
        if !annotations.is_empty() {
            object = object.raw("annotations", &annotations.finish());
        }
    }
    let block = Block(revision);
    block.meta(block.icons(object, &tool.icons), tool.meta.as_deref()).finish()
}

fn annotations(annotations: Option<&ToolAnnotations>, title: Option<&str>) -> Object {
    let object = Object::default().optional_string("title", title);
    let Some(hints) = annotations else { return object };
    object
        .optional_bool("readOnlyHint", hints.read_only)
        .optional_bool("destructiveHint", hints.destructive)
        .optional_bool("idempotentHint", hints.idempotent)
        .optional_bool("openWorldHint", hints.open_world)
}

/// Clients of 2025-06-18 and 2025-11-25 refuse a whole list for one schema whose root is
/// not an object, and a whole result for such a value: both are wrapped, or neither is there.
fn output_schema(revision: Revision, frozen: &FrozenTool) -> Option<&str> {
    let own = frozen.tool.output_schema.as_deref();
    match (revision.structured_content(), &frozen.wrapping) {
        (StructuredContent::Any, _) | (StructuredContent::Object, Wrapping::None) => own,
        (StructuredContent::Object, Wrapping::Result(schema)) => Some(schema),
        (StructuredContent::None, _) | (StructuredContent::Object, Wrapping::Impossible) => None,
    }
}

fn structured_content<'a>(revision: Revision, frozen: &FrozenTool, value: &'a str) -> Option<Cow<'a, str>> {
    match (revision.structured_content(), &frozen.wrapping) {
        (StructuredContent::Any, _) => Some(value.into()),
        (StructuredContent::Object, Wrapping::Result(_)) => Some(format!("{{\"result\":{value}}}").into()),
        (StructuredContent::Object, Wrapping::None) if Kind::of_text(value) == Kind::Object => Some(value.into()),
        (StructuredContent::None | StructuredContent::Object, _) => None,
    }
}

/// The members of the wire's `CallToolResult`, but for `_meta`.
pub(in crate::server) fn result(revision: Revision, frozen: &FrozenTool, result: &ToolResult) -> String {
    let block = Block(revision);
    let structured = result.structured.as_deref();
    let mut content: Vec<String> = result.content.iter().map(|content| block.content(content)).collect();
    if content.is_empty()
        && let Some(structured) = structured
    {
        content.push(block.text(structured));
    }
    let structured = structured.and_then(|value| structured_content(revision, frozen, value));
    Object::default()
        .array("content", content)
        .optional_raw("structuredContent", structured.as_deref())
        .optional_bool("isError", result.is_error.then_some(true))
        .members()
}

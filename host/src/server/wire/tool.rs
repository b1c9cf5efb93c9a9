//! Tools: how they are listed, and what their calls return.

use super::{Block, Object};
use crate::json::Kind;
use crate::plugin::abi::{Tool, ToolAnnotations, ToolResult};
use crate::protocol::Revision;
use crate::protocol::revision::StructuredContent;

/// The wire's `Tool`, under its public name.
pub(in crate::server) fn descriptor(revision: Revision, name: &str, tool: &Tool) -> String {
    let title = tool.title.as_deref();
    let mut object = Object::default()
        .string("name", name)
        .optional_string("title", title.filter(|_| revision.has_title()))
        .optional_string("description", tool.description.as_deref())
        .raw("inputSchema", &tool.input_schema);
    if let Some(schema) = tool.output_schema.as_deref().filter(|schema| keeps_output(revision, schema)) {
        object = object.raw("outputSchema", schema);
    }
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
/// not an object, so such a tool has neither schema nor structured content for them.
fn keeps_output(revision: Revision, schema: &str) -> bool {
    match revision.structured_content() {
        StructuredContent::None => false,
        StructuredContent::Any => true,
        StructuredContent::Object => {
            let root = crate::json::members(schema, ["type"]);
            matches!(root, Ok([Some(kind)]) if kind.get() == "\"object\"")
        }
    }
}

/// The members of the wire's `CallToolResult`, but for `_meta`.
pub(in crate::server) fn result(revision: Revision, result: &ToolResult) -> String {
    let block = Block(revision);
    let structured = result.structured.as_deref();
    let mut content: Vec<String> = result.content.iter().map(|content| block.content(content)).collect();
    if content.is_empty()
        && let Some(structured) = structured
    {
        content.push(block.text(structured));
    }
    let kept = structured.filter(|value| match revision.structured_content() {
        StructuredContent::None => false,
        StructuredContent::Any => true,
        StructuredContent::Object => Kind::of_text(value) == Kind::Object,
    });
    Object::default()
        .array("content", content)
        .optional_raw("structuredContent", kept)
        .optional_bool("isError", result.is_error.then_some(true))
        .members()
}

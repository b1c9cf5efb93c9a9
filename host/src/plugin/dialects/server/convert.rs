//! MCP's results as the types of `wharf:plugin`.
//!
//! What is missing or of another type is an error of the server, in words of the host.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::questions;
use crate::json;
use crate::plugin::abi::{
    Annotations, Completion, Content, EmbeddedResource, Icon, IconTheme, MediaContent, Prompt, PromptArgument,
    PromptMessage, PromptOutcome, PromptResult, ReadOutcome, ReadResult, ResourceBody, ResourceContents,
    ResourceDescription, ResourceTemplate, Role, TaskSupport, TextContent, Tool, ToolAnnotations, ToolOutcome,
    ToolResult,
};

/// The error is a fragment that reads after "returned an invalid result:".
pub(super) type Converted<T> = Result<T, String>;

pub(super) fn tool(tool: &Value) -> Converted<Tool> {
    let hints = &tool["annotations"];
    Ok(Tool {
        name: text(tool, "name")?,
        title: maybe(tool, "title").or_else(|| maybe(hints, "title")),
        description: maybe(tool, "description"),
        input_schema: json_text(tool, "inputSchema").ok_or("a tool without an input schema")?,
        output_schema: json_text(tool, "outputSchema"),
        annotations: hints.is_object().then(|| ToolAnnotations {
            read_only: hints["readOnlyHint"].as_bool(),
            destructive: hints["destructiveHint"].as_bool(),
            idempotent: hints["idempotentHint"].as_bool(),
            open_world: hints["openWorldHint"].as_bool(),
        }),
        // An instance ends with its call, and so would its tasks.
        task_support: TaskSupport::Forbidden,
        icons: icons(tool),
        meta: json_text(tool, "_meta"),
    })
}

pub(super) fn resource(resource: &Value) -> Converted<ResourceDescription> {
    Ok(ResourceDescription {
        uri: text(resource, "uri")?,
        name: text(resource, "name")?,
        title: maybe(resource, "title"),
        description: maybe(resource, "description"),
        mime_type: maybe(resource, "mimeType"),
        size: resource["size"].as_u64(),
        annotations: annotations(resource),
        icons: icons(resource),
        meta: json_text(resource, "_meta"),
    })
}

pub(super) fn template(template: &Value) -> Converted<ResourceTemplate> {
    Ok(ResourceTemplate {
        uri_template: text(template, "uriTemplate")?,
        name: text(template, "name")?,
        title: maybe(template, "title"),
        description: maybe(template, "description"),
        mime_type: maybe(template, "mimeType"),
        annotations: annotations(template),
        icons: icons(template),
        meta: json_text(template, "_meta"),
    })
}

pub(super) fn prompt(prompt: &Value) -> Converted<Prompt> {
    let argument = |argument: &Value| {
        Ok(PromptArgument {
            name: text(argument, "name")?,
            title: maybe(argument, "title"),
            description: maybe(argument, "description"),
            required: argument["required"].as_bool().unwrap_or(false),
        })
    };
    Ok(Prompt {
        name: text(prompt, "name")?,
        title: maybe(prompt, "title"),
        description: maybe(prompt, "description"),
        arguments: if prompt["arguments"].is_null() { Vec::new() } else { list(prompt, "arguments", argument)? },
        icons: icons(prompt),
        meta: json_text(prompt, "_meta"),
    })
}

pub(super) fn called(result: &Value) -> Converted<ToolOutcome> {
    if let Some(wanted) = questions::asked(result)? {
        return Ok(ToolOutcome::InputRequired(wanted));
    }
    Ok(ToolOutcome::Complete(ToolResult {
        content: if result["content"].is_null() { Vec::new() } else { list(result, "content", content)? },
        structured: json_text(result, "structuredContent"),
        is_error: result["isError"].as_bool().unwrap_or(false),
        meta: json_text(result, "_meta"),
    }))
}

pub(super) fn read(result: &Value) -> Converted<ReadOutcome> {
    if let Some(wanted) = questions::asked(result)? {
        return Ok(ReadOutcome::InputRequired(wanted));
    }
    let contents = list(result, "contents", contents)?;
    Ok(ReadOutcome::Complete(ReadResult { contents, caching: None, meta: json_text(result, "_meta") }))
}

pub(super) fn got(result: &Value) -> Converted<PromptOutcome> {
    if let Some(wanted) = questions::asked(result)? {
        return Ok(PromptOutcome::InputRequired(wanted));
    }
    let message =
        |message: &Value| Ok(PromptMessage { role: role(&message["role"])?, content: content(&message["content"])? });
    Ok(PromptOutcome::Complete(PromptResult {
        description: maybe(result, "description"),
        messages: list(result, "messages", message)?,
        meta: json_text(result, "_meta"),
    }))
}

pub(super) fn completed(result: &Value) -> Converted<Completion> {
    let completion = &result["completion"];
    let value = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| "a suggestion that is no text".into());
    Ok(Completion {
        values: list(completion, "values", value)?,
        total: completion["total"].as_u64().map(|total| u32::try_from(total).unwrap_or(u32::MAX)),
        has_more: completion["hasMore"].as_bool().unwrap_or(false),
    })
}

pub(super) fn content(content: &Value) -> Converted<Content> {
    Ok(match content["type"].as_str().unwrap_or_default() {
        "text" => Content::Text(text_content(content)?),
        "image" => Content::Image(media(content)?),
        "audio" => Content::Audio(media(content)?),
        "resource_link" => Content::Link(resource(content)?),
        "resource" => Content::Embedded(EmbeddedResource {
            contents: contents(&content["resource"])?,
            annotations: annotations(content),
            meta: json_text(content, "_meta"),
        }),
        _ => return Err("content of an unknown type".into()),
    })
}

pub(super) fn text_content(content: &Value) -> Converted<TextContent> {
    Ok(TextContent {
        text: text(content, "text")?,
        annotations: annotations(content),
        meta: json_text(content, "_meta"),
    })
}

pub(super) fn media(media: &Value) -> Converted<MediaContent> {
    Ok(MediaContent {
        data: bytes(media, "data")?,
        mime_type: text(media, "mimeType")?,
        annotations: annotations(media),
        meta: json_text(media, "_meta"),
    })
}

fn contents(contents: &Value) -> Converted<ResourceContents> {
    let body = match contents["text"].as_str() {
        Some(text) => ResourceBody::Text(text.to_owned()),
        None => ResourceBody::Blob(bytes(contents, "blob")?),
    };
    Ok(ResourceContents {
        uri: text(contents, "uri")?,
        mime_type: maybe(contents, "mimeType"),
        body,
        meta: json_text(contents, "_meta"),
    })
}

pub(super) fn role(role: &Value) -> Converted<Role> {
    match role.as_str() {
        Some("user") => Ok(Role::User),
        Some("assistant") => Ok(Role::Assistant),
        _ => Err("a message of neither the user nor the assistant".into()),
    }
}

/// Hints for people; an unknown one is left out.
fn annotations(of: &Value) -> Option<Annotations> {
    let annotations = of["annotations"].as_object().map(|_| &of["annotations"])?;
    let audience = annotations["audience"].as_array().map_or(&[][..], Vec::as_slice);
    Some(Annotations {
        audience: audience.iter().filter_map(|one| role(one).ok()).collect(),
        priority: annotations["priority"].as_f64(),
        last_modified: maybe(annotations, "lastModified"),
    })
}

fn icons(of: &Value) -> Vec<Icon> {
    let icon = |icon: &Value| {
        let sizes = icon["sizes"].as_array().map_or(&[][..], Vec::as_slice);
        Some(Icon {
            src: maybe(icon, "src")?,
            mime_type: maybe(icon, "mimeType"),
            sizes: sizes.iter().filter_map(|size| size.as_str().map(str::to_owned)).collect(),
            theme: match icon["theme"].as_str() {
                Some("light") => Some(IconTheme::Light),
                Some("dark") => Some(IconTheme::Dark),
                _ => None,
            },
        })
    };
    of["icons"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(icon).collect()
}

/// The entries of a list that must be there.
pub(super) fn list<T>(of: &Value, name: &str, read: impl Fn(&Value) -> Converted<T>) -> Converted<Vec<T>> {
    of[name].as_array().ok_or_else(|| format!("no list `{name}`"))?.iter().map(read).collect()
}

pub(super) fn text(of: &Value, name: &str) -> Converted<String> {
    maybe(of, name).ok_or_else(|| format!("no text `{name}`"))
}

pub(super) fn maybe(of: &Value, name: &str) -> Option<String> {
    of[name].as_str().map(str::to_owned)
}

fn bytes(of: &Value, name: &str) -> Converted<Vec<u8>> {
    STANDARD.decode(text(of, name)?).map_err(|_| format!("`{name}` that is not base64"))
}

pub(super) fn json_text(of: &Value, name: &str) -> Option<String> {
    of.get(name).filter(|value| !value.is_null()).map(json::canonical)
}

//! Converts wasmcp's records to the types of `wharf:plugin`.
//!
//! Content in a stream is rejected: it would have to be read within the call that made it.

use super::view::View;
use crate::plugin::abi::{
    Annotations, Completion, Content, EmbeddedResource, GuestError, Icon, IconTheme, InvalidInput, MediaContent,
    Prompt, PromptArgument, PromptMessage, PromptOutcome, PromptResult, ReadOutcome, ReadResult, ResourceBody,
    ResourceContents, ResourceDescription, ResourceTemplate, Role, TaskSupport, TextContent, Tool, ToolAnnotations,
    ToolOutcome, ToolResult,
};
use crate::plugin::fault::Fault;

type Converted<T> = Result<T, Fault>;

/// A member of an optional record.
fn option<T>(options: Option<View<'_>>, read: impl Fn(View<'_>) -> Converted<Option<T>>) -> Converted<Option<T>> {
    options.map_or(Ok(None), read)
}

pub(super) fn tool(tool: View<'_>) -> Converted<Tool> {
    let options = tool.held("options")?;
    let hints = option(options, |options| options.held("annotations")?.map(hints).transpose())?;
    Ok(Tool {
        name: tool.at("name")?.text()?,
        title: title(options)?,
        description: text(options, "description")?,
        input_schema: tool.at("input-schema")?.text()?,
        output_schema: text(options, "output-schema")?,
        annotations: hints,
        task_support: TaskSupport::Forbidden,
        icons: icons(options)?,
        meta: text(options, "meta")?,
    })
}

fn text(options: Option<View<'_>>, name: &'static str) -> Converted<Option<String>> {
    option(options, |options| options.maybe_text(name))
}

/// The title, or the one in the annotations, where older clients look for it.
fn title(options: Option<View<'_>>) -> Converted<Option<String>> {
    match text(options, "title")? {
        Some(title) => Ok(Some(title)),
        None => option(options, |options| match options.held("annotations")? {
            Some(hints) => hints.maybe_text("title"),
            None => Ok(None),
        }),
    }
}

fn hints(hints: View<'_>) -> Converted<ToolAnnotations> {
    Ok(ToolAnnotations {
        read_only: hints.maybe_flag("read-only-hint")?,
        destructive: hints.maybe_flag("destructive-hint")?,
        idempotent: hints.maybe_flag("idempotent-hint")?,
        open_world: hints.maybe_flag("open-world-hint")?,
    })
}

fn icons(options: Option<View<'_>>) -> Converted<Vec<Icon>> {
    Ok(option(options, |options| options.maybe_list("icons", icon).map(Some))?.unwrap_or_default())
}

fn icon(icon: View<'_>) -> Converted<Icon> {
    let theme = icon.maybe_text("theme")?;
    Ok(Icon {
        src: icon.at("src")?.text()?,
        mime_type: icon.maybe_text("mime-type")?,
        sizes: icon.maybe_list("sizes", View::text)?,
        theme: theme.map(|theme| if theme == "dark" { IconTheme::Dark } else { IconTheme::Light }),
    })
}

fn role(role: View<'_>) -> Converted<Role> {
    Ok(if role.text()? == "user" { Role::User } else { Role::Assistant })
}

fn annotations(options: Option<View<'_>>) -> Converted<Option<Annotations>> {
    option(options, |options| {
        let Some(annotations) = options.held("annotations")? else { return Ok(None) };
        Ok(Some(Annotations {
            audience: annotations.maybe_list("audience", role)?,
            priority: annotations.held("priority")?.map(View::fraction).transpose()?,
            last_modified: annotations.maybe_text("last-modified")?,
        }))
    })
}

pub(super) fn resource(resource: View<'_>) -> Converted<ResourceDescription> {
    let options = resource.held("options")?;
    Ok(ResourceDescription {
        uri: resource.at("uri")?.text()?,
        name: resource.at("name")?.text()?,
        title: text(options, "title")?,
        description: text(options, "description")?,
        mime_type: text(options, "mime-type")?,
        size: option(options, |options| options.maybe_number("size"))?,
        annotations: annotations(options)?,
        icons: icons(options)?,
        meta: text(options, "meta")?,
    })
}

pub(super) fn template(template: View<'_>) -> Converted<ResourceTemplate> {
    let options = template.held("options")?;
    Ok(ResourceTemplate {
        uri_template: template.at("uri-template")?.text()?,
        name: template.at("name")?.text()?,
        title: text(options, "title")?,
        description: text(options, "description")?,
        mime_type: text(options, "mime-type")?,
        annotations: annotations(options)?,
        icons: icons(options)?,
        meta: text(options, "meta")?,
    })
}

pub(super) fn prompt(prompt: View<'_>) -> Converted<Prompt> {
    let options = prompt.held("options")?;
    let argument = |argument: View<'_>| {
        Ok(PromptArgument {
            name: argument.at("name")?.text()?,
            title: argument.maybe_text("title")?,
            description: argument.maybe_text("description")?,
            required: argument.maybe_flag("required")?.unwrap_or(false),
        })
    };
    Ok(Prompt {
        name: prompt.at("name")?.text()?,
        title: text(options, "title")?,
        description: text(options, "description")?,
        arguments: option(options, |options| options.maybe_list("arguments", argument).map(Some))?.unwrap_or_default(),
        icons: icons(options)?,
        meta: text(options, "meta")?,
    })
}

pub(super) fn called(result: View<'_>) -> Converted<ToolOutcome> {
    Ok(ToolOutcome::Complete(ToolResult {
        content: result.at("content")?.each(content)?,
        structured: result.maybe_text("structured-content")?,
        is_error: result.maybe_flag("is-error")?.unwrap_or(false),
        meta: result.maybe_text("meta")?,
    }))
}

pub(super) fn read(result: View<'_>) -> Converted<ReadOutcome> {
    Ok(ReadOutcome::Complete(ReadResult {
        contents: result.at("contents")?.each(contents)?,
        caching: None,
        meta: result.maybe_text("meta")?,
    }))
}

pub(super) fn got(result: View<'_>) -> Converted<PromptOutcome> {
    let message = |message: View<'_>| {
        Ok(PromptMessage { role: role(message.at("role")?)?, content: content(message.at("content")?)? })
    };
    Ok(PromptOutcome::Complete(PromptResult {
        description: result.maybe_text("description")?,
        messages: result.at("messages")?.each(message)?,
        meta: result.maybe_text("meta")?,
    }))
}

pub(super) fn completed(result: View<'_>) -> Converted<Completion> {
    Ok(Completion {
        values: result.at("values")?.each(View::text)?,
        total: result.maybe_number("total")?.map(|total| u32::try_from(total).unwrap_or(u32::MAX)),
        has_more: result.maybe_flag("has-more")?.unwrap_or(false),
    })
}

fn content(content: View<'_>) -> Converted<Content> {
    let (case, held) = content.case()?;
    Ok(match case {
        "text" => {
            let options = held.held("options")?;
            Content::Text(TextContent {
                text: inline(held.at("text")?)?.text()?,
                annotations: annotations(options)?,
                meta: text(options, "meta")?,
            })
        }
        "image" => Content::Image(media(held)?),
        "audio" => Content::Audio(media(held)?),
        "resource-link" => Content::Link(resource(held)?),
        "embedded-resource" => {
            let options = held.held("options")?;
            Content::Embedded(EmbeddedResource {
                contents: contents(held.at("resource")?)?,
                annotations: annotations(options)?,
                meta: text(options, "meta")?,
            })
        }
        other => return Err(Fault::BadOutput(format!("content of an unknown kind: {other}"))),
    })
}

fn media(media: View<'_>) -> Converted<MediaContent> {
    let options = media.held("options")?;
    Ok(MediaContent {
        data: inline(media.at("data")?)?.bytes()?,
        mime_type: media.at("mime-type")?.text()?,
        annotations: annotations(options)?,
        meta: text(options, "meta")?,
    })
}

fn contents(contents: View<'_>) -> Converted<ResourceContents> {
    let (case, held) = contents.case()?;
    let options = held.held("options")?;
    let body = match case {
        "text" => ResourceBody::Text(inline(held.at("text")?)?.text()?),
        _ => ResourceBody::Blob(inline(held.at("blob")?)?.bytes()?),
    };
    let (mime_type, meta) = (text(options, "mime-type")?, text(options, "meta")?);
    Ok(ResourceContents { uri: held.at("uri")?.text()?, mime_type, body, meta })
}

/// Inline text or bytes.
fn inline(data: View<'_>) -> Converted<View<'_>> {
    match data.case()? {
        ("text" | "blob", held) => Ok(held),
        _ => Err(Fault::BadOutput("content from a stream, which is not supported; return it inline".into())),
    }
}

/// A JSON-RPC error, as a plugin's error.
pub(super) fn error(error: View<'_>) -> Converted<GuestError> {
    let (case, held) = error.case()?;
    let message = held.at("message")?.text()?;
    Ok(match case {
        "method-not-found" => GuestError::NotFound,
        "invalid-params" => GuestError::InvalidInput(InvalidInput { path: String::new(), reason: message }),
        _ => GuestError::Failed(message),
    })
}

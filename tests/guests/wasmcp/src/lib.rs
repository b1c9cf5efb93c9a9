//! A component made for wasmcp: every interface that a provider has, and each kind of content.

use abi::exports::wasmcp::mcp_v20251125::{completions, prompts, resources, tools};
use abi::wasi::cli::stdout::get_stdout;
use abi::wasmcp::mcp_v20251125::mcp::*;
use abi::wasmcp::mcp_v20251125::server_handler::MessageContext;
use abi::wasmcp::mcp_v20251125::server_io::{IoError, flush_buffer};

/// What wit-bindgen makes.
#[allow(unsafe_code, unreachable_pub, clippy::all)]
mod abi {
    wit_bindgen::generate!({ world: "guest", path: "wit", generate_all });

    export!(Provider);

    use super::Provider;
}

struct Provider;

type Answer<T> = Result<T, ErrorCode>;

fn error(message: &str) -> Error {
    Error { code: -32000, message: message.into(), data: None }
}

fn text(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent { text: TextData::Text(text), options: None })
}

fn said(content: Vec<ContentBlock>) -> Option<CallToolResult> {
    Some(CallToolResult { meta: None, content, is_error: None, structured_content: None })
}

fn tool(name: &str, options: Option<ToolOptions>) -> Tool {
    Tool { name: name.into(), input_schema: r#"{"type":"object"}"#.into(), options }
}

impl tools::Guest for Provider {
    /// In two pages.
    fn list_tools(_: MessageContext, request: ListToolsRequest) -> Answer<ListToolsResult> {
        let options = ToolOptions {
            meta: Some(r#"{"example.org/x":1}"#.into()),
            annotations: Some(ToolAnnotations {
                title: None,
                read_only_hint: Some(true),
                destructive_hint: Some(false),
                idempotent_hint: None,
                open_world_hint: None,
            }),
            description: Some("Says what it was given.".into()),
            output_schema: Some(r#"{"type":"object"}"#.into()),
            title: Some("Echo".into()),
            icons: None,
        };
        let (next, tools) = match request.cursor.as_deref() {
            None => (Some("2".to_owned()), vec![tool("echo", Some(options))]),
            Some(_) => {
                let others = ["content", "fail", "refuse", "unknown", "context", "flush"];
                (None, others.map(|name| tool(name, None)).into())
            }
        };
        Ok(ListToolsResult { meta: None, next_cursor: next, tools })
    }

    fn call_tool(context: MessageContext, request: CallToolRequest) -> Answer<Option<CallToolResult>> {
        Ok(match request.name.as_str() {
            "echo" => Some(CallToolResult {
                meta: None,
                content: vec![text("echoed".into())],
                is_error: None,
                structured_content: request.arguments,
            }),
            "content" => said(content()),
            "fail" => Some(CallToolResult {
                meta: None,
                content: vec![text("it failed".into())],
                is_error: Some(true),
                structured_content: None,
            }),
            "refuse" => return Err(ErrorCode::InternalError(error("it refused"))),
            "context" => said(vec![text(format!(
                "{} {} {} {} {}",
                context.protocol_version,
                context.client_stream.is_some(),
                context.session.is_some(),
                context.identity.is_some(),
                context.http_context.is_some(),
            ))]),
            "flush" => said(vec![text(match flush_buffer(&get_stdout()) {
                Err(IoError::Unexpected(why)) => why,
                other => format!("{other:?}"),
            })]),
            _ => None,
        })
    }
}

fn content() -> Vec<ContentBlock> {
    let annotations = Annotations { audience: Some(vec![Role::User]), last_modified: None, priority: Some(0.5) };
    let options = ContentOptions { annotations: Some(annotations), meta: None };
    let picture = |options| Blob { data: BlobData::Blob(vec![1, 2, 3]), mime_type: "image/png".into(), options };
    vec![
        ContentBlock::Image(picture(Some(options))),
        ContentBlock::Audio(Blob { mime_type: "audio/wav".into(), ..picture(None) }),
        ContentBlock::ResourceLink(ResourceLinkContent {
            uri: "wasmcp://one".into(),
            name: "one".into(),
            options: None,
        }),
        ContentBlock::EmbeddedResource(EmbeddedResourceContent { resource: page("wasmcp://one"), options: None }),
    ]
}

fn page(uri: &str) -> ResourceContents {
    ResourceContents::Text(TextResourceContents {
        uri: uri.into(),
        text: TextData::Text("the page".into()),
        options: Some(EmbeddedResourceOptions { mime_type: Some("text/plain".into()), meta: None }),
    })
}

impl resources::Guest for Provider {
    fn list_resources(_: MessageContext, _: ListResourcesRequest) -> Answer<ListResourcesResult> {
        let one = McpResource { uri: "wasmcp://one".into(), name: "one".into(), options: None };
        Ok(ListResourcesResult { meta: None, next_cursor: None, resources: vec![one] })
    }

    fn read_resource(_: MessageContext, request: ReadResourceRequest) -> Answer<Option<ReadResourceResult>> {
        let contents = match request.uri.as_str() {
            "wasmcp://one" => page(&request.uri),
            "wasmcp://item/bytes" => ResourceContents::Blob(BlobResourceContents {
                uri: request.uri,
                blob: BlobData::Blob(vec![0, 255]),
                options: None,
            }),
            _ => return Ok(None),
        };
        Ok(Some(ReadResourceResult { meta: None, contents: vec![contents] }))
    }

    fn list_resource_templates(
        _: MessageContext,
        _: ListResourceTemplatesRequest,
    ) -> Answer<ListResourceTemplatesResult> {
        let template =
            ResourceTemplate { uri_template: "wasmcp://item/{id}".into(), name: "item".into(), options: None };
        Ok(ListResourceTemplatesResult { meta: None, next_cursor: None, resource_templates: vec![template] })
    }
}

impl prompts::Guest for Provider {
    fn list_prompts(_: MessageContext, _: ListPromptsRequest) -> Answer<ListPromptsResult> {
        let argument = PromptArgument { name: "topic".into(), description: None, required: Some(true), title: None };
        let options = PromptOptions {
            meta: None,
            arguments: Some(vec![argument]),
            description: Some("Asks about something.".into()),
            title: None,
            icons: None,
        };
        let ask = Prompt { name: "ask".into(), options: Some(options) };
        Ok(ListPromptsResult { meta: None, next_cursor: None, prompts: vec![ask] })
    }

    fn get_prompt(_: MessageContext, request: GetPromptRequest) -> Answer<Option<GetPromptResult>> {
        let message = PromptMessage { content: text(request.arguments.unwrap_or_default()), role: Role::Assistant };
        Ok(Some(GetPromptResult { meta: None, description: Some(request.name), messages: vec![message] }))
    }
}

impl completions::Guest for Provider {
    fn complete(_: MessageContext, request: CompleteRequest) -> Answer<Option<CompleteResult>> {
        let of = match request.ref_ {
            CompletionReference::Prompt(prompt) => prompt.name,
            CompletionReference::ResourceTemplate(uri) => uri,
        };
        let given = request.context.and_then(|context| context.arguments).unwrap_or_default();
        let values = vec![of, request.argument.name, format!("{}!", request.argument.value), given];
        Ok(Some(CompleteResult { meta: None, has_more: Some(true), total: Some(7), values }))
    }
}

//! What a plugin asks for, in the wire's words: `elicitation/create`, `sampling/createMessage`
//! and `roots/list`, as a request of its own or inside an `InputRequiredResult`.
//!
//! Source: MCP, client/{elicitation,sampling,roots} of each revision.

use super::content::{Block, role_name};
use super::{Object, form};
use crate::json;
use crate::plugin::abi::{
    Ask, ContextScope, ModelPreferences, Sampling, SamplingContent, SamplingMessage, SamplingTool, ToolChoice,
};
use crate::protocol::{ClientCapabilities, Revision};

/// A request of the server's, without an id.
pub(in crate::server) struct Request {
    pub(in crate::server) method: &'static str,
    pub(in crate::server) params: Option<String>,
}

/// Why a question cannot be put to a client.
pub(in crate::server) enum Unsaid {
    /// In its revision there are no words for it: a sentence for the plugin.
    NoWords(&'static str),
    /// It breaks a rule of every revision, which is the plugin's fault.
    Broken(String),
}

/// Whether the client's model is lent tools, for which a capability of its own is needed.
pub(in crate::server) fn lends_tools(sampling: &Sampling) -> bool {
    let of_tools =
        |content: &SamplingContent| matches!(content, SamplingContent::ToolUse(_) | SamplingContent::ToolResult(_));
    !sampling.tools.is_empty()
        || sampling.tool_choice.is_some()
        || sampling.messages.iter().flat_map(|message| &message.content).any(of_tools)
}

/// `visit` names a visit where the revision wants a name for it.
pub(in crate::server) fn request(
    revision: Revision,
    client: &ClientCapabilities,
    ask: &Ask,
    visit: &str,
) -> Result<Request, Unsaid> {
    let (method, params) = match ask {
        Ask::Roots => ("roots/list", None),
        Ask::Form(form) => {
            let schema = form::requested_schema(revision, &form.schema)?;
            let mode = revision.has_elicitation_url().then_some("form");
            let params = Object::default()
                .optional_string("mode", mode)
                .string("message", &form.message)
                .raw("requestedSchema", &schema);
            ("elicitation/create", Some(params))
        }
        Ask::Url(url) => {
            let id = revision.has_elicitation_id().then_some(visit);
            let params = Object::default()
                .string("mode", "url")
                .string("message", &url.message)
                .string("url", &url.url)
                .optional_string("elicitationId", id);
            ("elicitation/create", Some(params))
        }
        Ask::Sample(sampling) => ("sampling/createMessage", Some(sample(revision, client, sampling))),
    };
    Ok(Request { method, params: params.map(Object::finish) })
}

fn sample(revision: Revision, client: &ClientCapabilities, sampling: &Sampling) -> Object {
    let mut object = Object::default()
        .array("messages", sampling.messages.iter().flat_map(|message| messages(revision, message)))
        .raw("maxTokens", &sampling.max_tokens.to_string())
        .optional_string("systemPrompt", sampling.system_prompt.as_deref())
        .optional_raw("temperature", sampling.temperature.map(|value| value.to_string()).as_deref())
        .optional_raw("modelPreferences", sampling.model_preferences.as_ref().map(preferences).as_deref())
        .optional_raw("metadata", sampling.metadata.as_deref());
    if !sampling.stop_sequences.is_empty() {
        object = object.array("stopSequences", sampling.stop_sequences.iter().map(|stop| json::quote(stop)));
    }
    // A hint, and one that a client without the capability must not see (since 2025-11-25).
    if let Some(scope) = sampling.include_context
        && (scope == ContextScope::None || client.sampling_context || !revision.has_sampling_tools())
    {
        object = object.string("includeContext", context_name(scope));
    }
    if !sampling.tools.is_empty() {
        object = object.array("tools", sampling.tools.iter().map(tool));
    }
    match sampling.tool_choice {
        Some(choice) => object.raw("toolChoice", &Object::default().string("mode", choice_name(choice)).finish()),
        None => object,
    }
}

/// One message; several where the revision has only one content in each.
fn messages(revision: Revision, message: &SamplingMessage) -> Vec<String> {
    let of = |content: &str| Object::default().string("role", role_name(message.role)).raw("content", content).finish();
    let contents: Vec<String> = message.content.iter().map(|content| self::content(revision, content)).collect();
    match contents.as_slice() {
        [one] => vec![of(one)],
        several if revision.has_sampling_tools() => vec![of(&format!("[{}]", several.join(",")))],
        several => several.iter().map(|content| of(content)).collect(),
    }
}

fn content(revision: Revision, content: &SamplingContent) -> String {
    let block = Block(revision);
    match content {
        SamplingContent::Text(text) => block.text_content(text),
        SamplingContent::Image(media) => block.image(media),
        SamplingContent::Audio(media) => block.audio(media),
        SamplingContent::ToolUse(used) => Object::default()
            .string("type", "tool_use")
            .string("id", &used.id)
            .string("name", &used.name)
            .raw("input", &used.input)
            .finish(),
        SamplingContent::ToolResult(answer) => Object::default()
            .string("type", "tool_result")
            .string("toolUseId", &answer.tool_use_id)
            .array("content", answer.content.iter().map(|content| block.content(content)))
            .optional_raw("structuredContent", answer.structured.as_deref())
            .optional_bool("isError", answer.is_error.then_some(true))
            .finish(),
    }
}

fn tool(tool: &SamplingTool) -> String {
    Object::default()
        .string("name", &tool.name)
        .optional_string("description", tool.description.as_deref())
        .raw("inputSchema", &tool.input_schema)
        .finish()
}

fn preferences(preferences: &ModelPreferences) -> String {
    let number = |priority: Option<f64>| priority.map(|priority| priority.to_string());
    let mut object = Object::default();
    if !preferences.hints.is_empty() {
        object =
            object.array("hints", preferences.hints.iter().map(|hint| Object::default().string("name", hint).finish()));
    }
    object
        .optional_raw("costPriority", number(preferences.cost_priority).as_deref())
        .optional_raw("speedPriority", number(preferences.speed_priority).as_deref())
        .optional_raw("intelligencePriority", number(preferences.intelligence_priority).as_deref())
        .finish()
}

fn context_name(scope: ContextScope) -> &'static str {
    match scope {
        ContextScope::None => "none",
        ContextScope::ThisServer => "thisServer",
        ContextScope::AllServers => "allServers",
    }
}

fn choice_name(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
        ToolChoice::None => "none",
    }
}

//! A plugin's questions in the wire's form: `elicitation/create`, `sampling/createMessage` and
//! `roots/list`, as a request or inside an `InputRequiredResult`.
//!
//! Source: MCP, client/{elicitation,sampling,roots} of each revision.

use serde::{Serialize, Serializer};
use serde_json::{Number, Value};

use super::content::Block;
use super::{Unrepresentable, form};
use crate::json::{self, Raw};
use crate::plugin::abi::{Ask, ContextScope, ModelPreferences, Sampling, SamplingMessage, SamplingTool, ToolChoice};
use crate::protocol::{ClientCapabilities, Revision};

/// A server request, without an id.
#[derive(Serialize)]
pub(in crate::server) struct Request {
    pub(in crate::server) method: &'static str,
    /// JSON text.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw")]
    pub(in crate::server) params: Option<String>,
}

fn raw<S: Serializer>(params: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    params.as_deref().map(Raw).serialize(serializer)
}

/// `visit` is the `elicitationId`, where the revision has it.
pub(in crate::server) fn request(
    revision: Revision,
    client: &ClientCapabilities,
    ask: &Ask,
    visit: &str,
) -> Result<Request, Unrepresentable> {
    let broken =
        |fault: serde_json::Error| Unrepresentable::Invalid(format!("a question that cannot be serialized: {fault}"));
    let (method, params) = match ask {
        Ask::Roots => ("roots/list", None),
        Ask::Form(form) => {
            let requested_schema = form::requested_schema(revision, &form.schema)?;
            let mode = revision.has_elicitation_url().then_some("form");
            let params = FormParams { mode, message: &form.message, requested_schema };
            ("elicitation/create", Some(json::to_text(&params).map_err(broken)?))
        }
        Ask::Url(url) => {
            let elicitation_id = revision.has_elicitation_id().then_some(visit);
            let params = UrlParams { mode: "url", message: &url.message, url: &url.url, elicitation_id };
            ("elicitation/create", Some(json::to_text(&params).map_err(broken)?))
        }
        Ask::Sample(sampling) => {
            let params = SampleParams::new(revision, client, sampling);
            ("sampling/createMessage", Some(json::to_text(&params).map_err(broken)?))
        }
    };
    Ok(Request { method, params })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FormParams<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    message: &'a str,
    requested_schema: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UrlParams<'a> {
    mode: &'static str,
    message: &'a str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation_id: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampleParams<'a> {
    messages: Vec<Message<'a>>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model_preferences: Option<Preferences<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Raw<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    include_context: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Contents<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Contents<'a> {
    One(Block<'a>),
    Several(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: Raw<'a>,
}

#[derive(Serialize)]
struct Choice {
    mode: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Preferences<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<Hint<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_priority: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_priority: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intelligence_priority: Option<Number>,
}

#[derive(Serialize)]
struct Hint<'a> {
    name: &'a str,
}

impl<'a> SampleParams<'a> {
    fn new(revision: Revision, client: &ClientCapabilities, sampling: &'a Sampling) -> Self {
        // A client without the capability must not be sent this hint (since 2025-11-25).
        let include_context = sampling
            .include_context
            .filter(|scope| *scope == ContextScope::None || client.sampling_context || !revision.has_sampling_tools());
        let tool = |tool: &'a SamplingTool| Tool {
            name: &tool.name,
            description: tool.description.as_deref(),
            input_schema: Raw(&tool.input_schema),
        };
        Self {
            messages: sampling.messages.iter().flat_map(|message| messages(revision, message)).collect(),
            max_tokens: sampling.max_tokens,
            system_prompt: sampling.system_prompt.as_deref(),
            temperature: sampling.temperature.and_then(json::number),
            model_preferences: sampling.model_preferences.as_ref().map(Preferences::new),
            metadata: sampling.metadata.as_deref().map(Raw),
            stop_sequences: &sampling.stop_sequences,
            include_context: include_context.map(context_name),
            tools: sampling.tools.iter().map(tool).collect(),
            tool_choice: sampling.tool_choice.map(|choice| Choice { mode: choice_name(choice) }),
        }
    }
}

impl<'a> Preferences<'a> {
    fn new(preferences: &'a ModelPreferences) -> Self {
        Self {
            hints: preferences.hints.iter().map(|name| Hint { name }).collect(),
            cost_priority: preferences.cost_priority.and_then(json::number),
            speed_priority: preferences.speed_priority.and_then(json::number),
            intelligence_priority: preferences.intelligence_priority.and_then(json::number),
        }
    }
}

/// One message, or several where the revision allows only one content in each.
fn messages(revision: Revision, message: &SamplingMessage) -> Vec<Message<'_>> {
    let of = |content| Message { role: message.role.name(), content };
    let blocks = message.content.iter().map(|content| Block::of_sampling(revision, content));
    if message.content.len() != 1 && revision.has_sampling_tools() {
        return vec![of(Contents::Several(blocks.collect()))];
    }
    blocks.map(Contents::One).map(of).collect()
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

//! Prompts: their listing, and the messages of `prompts/get`.

use serde::Serialize;

use super::content::{Block, Icon, icons, meta};
use crate::json::Object;
use crate::plugin::abi;
use crate::protocol::Revision;

/// The wire's `Prompt`, under its public name.
#[derive(Serialize)]
pub(in crate::server) struct Prompt<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<Argument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<Icon<'a>>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Object<'a>>,
}

#[derive(Serialize)]
struct Argument<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    required: bool,
}

impl<'a> Prompt<'a> {
    pub(in crate::server) fn new(revision: Revision, name: &'a str, prompt: &'a abi::Prompt) -> Self {
        let argument = |argument: &'a abi::PromptArgument| Argument {
            name: &argument.name,
            title: argument.title.as_deref().filter(|_| revision.has_title()),
            description: argument.description.as_deref(),
            required: argument.required,
        };
        Self {
            name,
            title: prompt.title.as_deref().filter(|_| revision.has_title()),
            description: prompt.description.as_deref(),
            arguments: prompt.arguments.iter().map(argument).collect(),
            icons: icons(revision, &prompt.icons),
            meta: meta(revision, prompt.meta.as_deref()),
        }
    }
}

/// The wire's `GetPromptResult`, without `_meta`.
#[derive(Serialize)]
pub(in crate::server) struct GetPromptResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Block<'a>,
}

impl<'a> GetPromptResult<'a> {
    pub(in crate::server) fn new(revision: Revision, result: &'a abi::PromptResult) -> Self {
        let message = |message: &'a abi::PromptMessage| Message {
            role: message.role.name(),
            content: Block::new(revision, &message.content),
        };
        Self { description: result.description.as_deref(), messages: result.messages.iter().map(message).collect() }
    }
}

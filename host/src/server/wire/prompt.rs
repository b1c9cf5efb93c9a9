//! Prompts: how they are listed, and the messages that they make.

use super::{Block, Object};
use crate::plugin::abi::{Prompt, PromptArgument, PromptMessage, PromptResult};
use crate::protocol::Revision;

/// The wire's `Prompt`, under its public name.
pub(in crate::server) fn descriptor(revision: Revision, name: &str, prompt: &Prompt) -> String {
    let mut object = Object::default()
        .string("name", name)
        .optional_string("title", prompt.title.as_deref().filter(|_| revision.has_title()))
        .optional_string("description", prompt.description.as_deref());
    if !prompt.arguments.is_empty() {
        object = object.array("arguments", prompt.arguments.iter().map(|argument| self::argument(revision, argument)));
    }
    let block = Block(revision);
    block.meta(block.icons(object, &prompt.icons), prompt.meta.as_deref()).finish()
}

fn argument(revision: Revision, argument: &PromptArgument) -> String {
    Object::default()
        .string("name", &argument.name)
        .optional_string("title", argument.title.as_deref().filter(|_| revision.has_title()))
        .optional_string("description", argument.description.as_deref())
        .optional_bool("required", Some(argument.required))
        .finish()
}

/// The members of the wire's `GetPromptResult`, but for `_meta`.
pub(in crate::server) fn result(revision: Revision, result: &PromptResult) -> String {
    Object::default()
        .optional_string("description", result.description.as_deref())
        .array("messages", result.messages.iter().map(|message| self::message(revision, message)))
        .members()
}

fn message(revision: Revision, message: &PromptMessage) -> String {
    Object::default()
        .string("role", super::content::role_name(message.role))
        .raw("content", &Block(revision).content(&message.content))
        .finish()
}

//! Checks a guest's outcome before it is passed on: size, JSON, output schema.
//!
//! The conversion to wire types is in `server`.

pub(in crate::plugin) mod checked;
mod hidden;
mod size;

use std::collections::HashSet;

use super::abi::{
    Ask, Completion, Content, GuestError, InputRequired, PromptOutcome, ReadOutcome, ResourceContents, SamplingContent,
    ToolOutcome, ToolResult,
};
use super::fault::{CallError, Fault};
use super::instance::call::PreparedComponent;
use super::policy::redact::REDACTED;
use super::schema::Schema;
use super::schema::allowance::Allowance;
use super::schema::forms::Forms;
use crate::text;

use super::surface::normalize::{self, annotations, json};
use super::surface::pages;
use hidden::DropHidden;
use size::Size;

/// Maximum bytes of a plugin's state between rounds.
const MAX_STATE: usize = 64 << 10;
/// Maximum questions of one round.
const MAX_QUESTIONS: usize = 32;
/// Maximum bytes of the key of a question.
const MAX_KEY: usize = 256;
/// Maximum bytes of a suggestion.
const MAX_SUGGESTION: usize = 1 << 10;
/// Maximum bytes of an outcome that is not counted against a client's unread bytes.
const SMALL: usize = 16 << 10;
/// Maximum bytes of a guest's reason for an error.
const MAX_REASON: usize = 16 << 10;

type Checked<T> = Result<T, Fault>;

/// Checks a tool's outcome, and validates it against the output schema, if there is one.
pub(in crate::plugin) async fn tool(
    prepared: &PreparedComponent,
    mut outcome: ToolOutcome,
    schema: Option<&Schema>,
) -> Checked<ToolOutcome> {
    fits(outcome.size(), prepared.limits.output)?;
    drop_hidden(&mut outcome);
    match &mut outcome {
        ToolOutcome::InputRequired(wanted) => input_required(wanted, &prepared.forms)?,
        ToolOutcome::Complete(result) => {
            parts(result)?;
            if let Some(schema) = schema
                && !result.is_error
            {
                let Some(structured) = &result.structured else {
                    return bad("no structured content, though the tool has an output schema".into());
                };
                if let Err(violations) = prepared.runtime.checker.check(schema, structured).await? {
                    let first = violations.into_iter().next().unwrap_or_default();
                    let place = match first.path.as_str() {
                        "" => String::new(),
                        path => format!(" at '{}'", text::quote(path, 120)),
                    };
                    let reason = first.reason;
                    return bad(format!(
                        "structured content that does not satisfy the tool's output schema{place}: {reason}"
                    ));
                }
            }
        }
    }
    Ok(outcome)
}

fn parts(result: &mut ToolResult) -> Checked<()> {
    contents(&mut result.content)?;
    result.meta = checked_meta(result.meta.take())?;
    result.structured = result.structured.take().map(|text| checked_json(text, "structured content")).transpose()?;
    Ok(())
}

/// Whether an outcome is so small that one for each request in flight takes little memory.
pub(in crate::plugin) fn is_small(outcome: &ToolOutcome) -> bool {
    outcome.size() <= SMALL
}

/// Checks the contents of a resource.
pub(in crate::plugin) fn read(mut outcome: ReadOutcome, forms: &Forms, limit: u64) -> Checked<ReadOutcome> {
    fits(outcome.size(), limit)?;
    drop_hidden(&mut outcome);
    match &mut outcome {
        ReadOutcome::InputRequired(wanted) => input_required(wanted, forms)?,
        ReadOutcome::Complete(result) => {
            result.contents.iter_mut().try_for_each(resource)?;
            result.meta = checked_meta(result.meta.take())?;
        }
    }
    Ok(outcome)
}

/// Checks a prompt's messages.
pub(in crate::plugin) fn prompt(mut outcome: PromptOutcome, forms: &Forms, limit: u64) -> Checked<PromptOutcome> {
    fits(outcome.size(), limit)?;
    drop_hidden(&mut outcome);
    match &mut outcome {
        PromptOutcome::InputRequired(wanted) => input_required(wanted, forms)?,
        PromptOutcome::Complete(result) => {
            for message in &mut result.messages {
                content(&mut message.content)?;
            }
            result.meta = checked_meta(result.meta.take())?;
        }
    }
    Ok(outcome)
}

/// Checks suggestions. One that is not a single line of text is dropped, since the others are
/// still useful.
pub(in crate::plugin) fn completion(mut completion: Completion, limit: u64) -> Checked<Completion> {
    fits(completion.size(), limit)?;
    let mut leeway = text::Leeway::default();
    completion
        .values
        .retain(|value| value.len() <= MAX_SUGGESTION && text::deceptive_in_line(value, &mut leeway).is_none());
    Ok(completion)
}

/// Checks the result of a method of the plugin.
pub(in crate::plugin) fn method(mut result: String, limit: u64) -> Checked<String> {
    fits(result.len(), limit)?;
    text::drop_hidden_in_json(&mut result, &mut text::Leeway::default());
    object(&mut result, "a result")?;
    Ok(result)
}

/// A guest's error, with its texts truncated.
pub(in crate::plugin) fn guest_error(mut error: GuestError) -> CallError {
    let cut = |text: &mut String, max| text.truncate(text::prefix(text, max).len());
    match &mut error {
        GuestError::NotFound => {}
        GuestError::Failed(reason) => cut(reason, MAX_REASON),
        GuestError::InvalidInput(input) => {
            cut(&mut input.path, 1024);
            cut(&mut input.reason, MAX_REASON);
        }
    }
    drop_hidden(&mut error);
    CallError::Guest(error)
}

/// The first text of a failed result.
pub(in crate::plugin) fn first_text(result: &ToolResult) -> Option<&str> {
    result.content.iter().find_map(|content| match content {
        Content::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

/// Drops hidden characters.
fn drop_hidden(value: &mut impl DropHidden) {
    value.drop_hidden(&mut text::Leeway::default());
}

fn fits(size: usize, limit: u64) -> Checked<()> {
    if size as u64 > limit {
        return Err(Fault::OutputTooLarge { limit });
    }
    Ok(())
}

fn bad<T>(why: String) -> Checked<T> {
    Err(Fault::BadOutput(why))
}

fn checked_json(text: String, what: &str) -> Checked<String> {
    json(text).map_err(|why| Fault::BadOutput(format!("{what} that is {why}")))
}

fn checked_meta(text: Option<String>) -> Checked<Option<String>> {
    text.map(|text| normalize::object(&text)).transpose().map_err(|why| Fault::BadOutput(format!("meta that is {why}")))
}

fn object(text: &mut String, what: &str) -> Checked<()> {
    *text = normalize::object(text).map_err(|why| Fault::BadOutput(format!("{what} that is {why}")))?;
    Ok(())
}

fn contents(list: &mut [Content]) -> Checked<()> {
    list.iter_mut().try_for_each(content)
}

fn content(content: &mut Content) -> Checked<()> {
    match content {
        Content::Text(text) => {
            annotations(&mut text.annotations);
            text.meta = checked_meta(text.meta.take())?;
        }
        Content::Image(media) | Content::Audio(media) => {
            annotations(&mut media.annotations);
            media.meta = checked_meta(media.meta.take())?;
        }
        Content::Embedded(embedded) => {
            resource(&mut embedded.contents)?;
            annotations(&mut embedded.annotations);
            embedded.meta = checked_meta(embedded.meta.take())?;
        }
        Content::Link(link) => {
            uri(&link.uri)?;
            annotations(&mut link.annotations);
            link.meta = checked_meta(link.meta.take())?;
        }
    }
    Ok(())
}

fn resource(contents: &mut ResourceContents) -> Checked<()> {
    uri(&contents.uri)?;
    contents.meta = checked_meta(contents.meta.take())?;
    contents
        .meta
        .as_deref()
        .map_or(Ok(()), pages::check)
        .map_err(|why| Fault::BadOutput(format!("contents whose meta {why}")))?;
    Ok(())
}

/// An identifier: it is passed on unchanged, or rejected.
fn name(name: &str, what: &str) -> Checked<()> {
    match text::hidden_in_name(name) {
        None => Ok(()),
        Some(c) => bad(format!("{what} with an invisible or deceptive character: U+{:04X}", u32::from(c))),
    }
}

fn uri(uri: &str) -> Checked<()> {
    match fluent_uri::Uri::parse(uri) {
        Ok(_) => Ok(()),
        Err(_) => bad(format!("an invalid URI: {}", text::quote(uri, 200))),
    }
}

/// A URL that the user is asked to open: https only, not a page that can be modified in transit, a
/// file or a script; without the name of a user, which would look like the host.
fn page(url: &str) -> Checked<()> {
    let wrong = |what: &str| bad(format!("a page to visit whose URL {what}: {}", text::quote(url, 200)));
    let Ok(parsed) = fluent_uri::Uri::parse(url) else { return wrong("is not a valid URL of https") };
    if !parsed.scheme().as_str().eq_ignore_ascii_case("https") {
        return wrong("is not https");
    }
    match parsed.authority() {
        Some(authority) if authority.userinfo().is_some() => wrong("has a user's name before the host"),
        Some(authority) if !authority.host().is_empty() && authority.port_to_u16().is_ok() => Ok(()),
        _ => wrong("is not a valid URL of https"),
    }
}

fn input_required(wanted: &mut InputRequired, forms: &Forms) -> Checked<()> {
    if wanted.state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
        return bad(format!("a state of more than {MAX_STATE} bytes"));
    }
    if wanted.questions.len() > MAX_QUESTIONS {
        return bad(format!("more than {MAX_QUESTIONS} questions"));
    }
    let (mut keys, mut allowance) = (HashSet::new(), Allowance::new());
    for question in &mut wanted.questions {
        if question.key.len() > MAX_KEY {
            return bad(format!("a question with a key of more than {MAX_KEY} bytes"));
        }
        name(&question.key, "a question's key")?;
        // Its answer would have another key.
        if question.key.contains(REDACTED) {
            return bad("a question whose key has a secret in it".into());
        }
        if !keys.insert(question.key.clone()) {
            return bad("two questions with the same key".into());
        }
        ask(&mut question.ask, forms, &mut allowance)?;
    }
    Ok(())
}

fn ask(ask: &mut Ask, forms: &Forms, allowance: &mut Allowance) -> Checked<()> {
    match ask {
        Ask::Form(form) => {
            object(&mut form.schema, "a form's schema")?;
            match forms.compile(&form.schema, allowance) {
                Ok(_) => Ok(()),
                Err(why) => bad(format!("a form with an invalid schema: {why}")),
            }
        }
        Ask::Url(visit) => page(&visit.url),
        Ask::Roots => Ok(()),
        Ask::Sample(sampling) => {
            for message in &mut sampling.messages {
                message.content.iter_mut().try_for_each(sampled)?;
            }
            for tool in &mut sampling.tools {
                name(&tool.name, "a sampling tool's name")?;
                object(&mut tool.input_schema, "a sampling tool's schema")?;
            }
            if let Some(metadata) = &mut sampling.metadata {
                object(metadata, "sampling metadata")?;
            }
            sampling.temperature = sampling.temperature.filter(|t| t.is_finite());
            if let Some(preferences) = &mut sampling.model_preferences {
                for priority in [
                    &mut preferences.cost_priority,
                    &mut preferences.speed_priority,
                    &mut preferences.intelligence_priority,
                ] {
                    *priority = priority.filter(|p| (0.0..=1.0).contains(p));
                }
            }
            Ok(())
        }
    }
}

fn sampled(content: &mut SamplingContent) -> Checked<()> {
    match content {
        SamplingContent::Text(text) => {
            annotations(&mut text.annotations);
            text.meta = checked_meta(text.meta.take())?;
        }
        SamplingContent::Image(media) | SamplingContent::Audio(media) => {
            annotations(&mut media.annotations);
            media.meta = checked_meta(media.meta.take())?;
        }
        SamplingContent::ToolUse(tool_use) => {
            name(&tool_use.id, "a tool use's id")?;
            name(&tool_use.name, "a tool use's name")?;
            object(&mut tool_use.input, "a tool use's input")?;
        }
        SamplingContent::ToolResult(answer) => {
            name(&answer.tool_use_id, "a tool result's id")?;
            contents(&mut answer.content)?;
            answer.structured =
                answer.structured.take().map(|text| checked_json(text, "structured content")).transpose()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

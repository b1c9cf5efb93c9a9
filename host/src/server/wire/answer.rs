//! The client's answers to questions, converted to WIT: `ElicitResult`, `CreateMessageResult` and
//! `ListRootsResult`.
//!
//! Source: MCP, schema of each revision; the members read here are the same in all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use crate::json::{self, Kind as JsonKind};
use crate::plugin::Violation;
use crate::plugin::abi::{
    ElicitAction, Elicited, MediaContent, Reply, Role, Root, Sampled, SamplingContent, TextContent, ToolUse,
};
use crate::protocol::{ErrorObject, error, params};
use crate::server::questions::QuestionKind;

/// Maximum roots or contents of one answer; the excess is left out.
const MAX_ITEMS: usize = 1024;

/// Parses the answer at `path`. A form's content is validated later, on the plugin's threads.
pub(in crate::server) fn reply(kind: &QuestionKind, raw: &RawValue, path: &str) -> Result<Reply, ErrorObject> {
    let object = params::required(params::object(Some(raw), path)?, path)?;
    match kind {
        QuestionKind::Form(_) => elicited(object, true, path),
        QuestionKind::Url => elicited(object, false, path),
        QuestionKind::Sample(_) => sampled(object, path),
        QuestionKind::Roots => roots(object, path),
    }
}

/// The kind of question that an answer is for, guessed from its members: for a client that does
/// not return its `requestState`.
pub(in crate::server) fn kind(raw: &RawValue, path: &str) -> Result<QuestionKind, ErrorObject> {
    let object = params::required(params::object(Some(raw), path)?, path)?;
    let [action, roots, model] = params::members(Some(object), ["action", "roots", "model"], path)?;
    match (action, roots, model) {
        // Any content is accepted: the form is unknown.
        (Some(_), ..) => Ok(QuestionKind::Form("true".into())),
        (_, Some(_), _) => Ok(QuestionKind::Roots),
        (.., Some(_)) => Ok(QuestionKind::Sample(false)),
        _ => Err(error::invalid_params(path, "must be a result of elicitation, sampling or roots/list")),
    }
}

fn elicited(object: &RawValue, form: bool, path: &str) -> Result<Reply, ErrorObject> {
    let [action, content] = params::members(Some(object), ["action", "content"], path)?;
    let at = format!("{path}.action");
    let action = match &*params::required(params::string(action, &at)?, &at)? {
        "accept" => ElicitAction::Accept,
        "decline" => ElicitAction::Decline,
        "cancel" => ElicitAction::Cancel,
        _ => return Err(error::invalid_params(&at, "must be accept, decline or cancel")),
    };
    let at = format!("{path}.content");
    let content = params::object(content, &at)?;
    let content = match action {
        ElicitAction::Accept if form => Some(content.map_or("{}", RawValue::get).to_owned()),
        _ => None,
    };
    Ok(Reply::Elicited(Elicited { action, content }))
}

/// The error for a form's content that violates its schema; `path` is that of the answer.
pub(in crate::server) fn mismatch(violations: &[Violation], path: &str) -> ErrorObject {
    let first = violations.first();
    let (at, reason) = first.map_or(("", ""), |first| (first.path.as_str(), first.reason.as_str()));
    error::invalid_params(format!("{path}.content{}", at.replace('/', ".")), reason)
}

fn sampled(object: &RawValue, path: &str) -> Result<Reply, ErrorObject> {
    let names = ["role", "content", "model", "stopReason"];
    let [role, content, model, stop] = params::members(Some(object), names, path)?;
    let at = format!("{path}.role");
    let role = match &*params::required(params::string(role, &at)?, &at)? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => return Err(error::invalid_params(&at, "must be user or assistant")),
    };
    let at = format!("{path}.content");
    let content = params::required(content, &at)?;
    let content = match json::items(content.get(), MAX_ITEMS) {
        Some(items) => items
            .first
            .into_iter()
            .enumerate()
            .map(|(index, item)| self::content(item, &format!("{at}[{index}]")))
            .collect::<Result<_, _>>()?,
        None => vec![self::content(content, &at)?],
    };
    let at = format!("{path}.model");
    let model = params::required(params::string(model, &at)?, &at)?.into_owned();
    let stop_reason = params::string(stop, format!("{path}.stopReason"))?.map(Into::into);
    Ok(Reply::Sampled(Sampled { role, content, model, stop_reason }))
}

fn content(raw: &RawValue, path: &str) -> Result<SamplingContent, ErrorObject> {
    let object = params::required(params::object(Some(raw), path)?, path)?;
    let names = ["type", "text", "data", "mimeType", "id", "name", "input"];
    let [kind, text, data, mime, id, name, input] = params::members(Some(object), names, path)?;
    let string = |raw, member: &str| {
        let at = format!("{path}.{member}");
        params::required(params::string(raw, &at)?, &at).map(|text| text.into_owned())
    };
    let media = || {
        let data = STANDARD.decode(string(data, "data")?);
        let data = data.map_err(|_| error::invalid_params(format!("{path}.data"), "is not base64"))?;
        Ok(MediaContent { data, mime_type: string(mime, "mimeType")?, annotations: None, meta: None })
    };
    match string(kind, "type")?.as_str() {
        "text" => {
            let text = string(text, "text")?;
            Ok(SamplingContent::Text(TextContent::new(text)))
        }
        "image" => media().map(SamplingContent::Image),
        "audio" => media().map(SamplingContent::Audio),
        "tool_use" => {
            let at = format!("{path}.input");
            let input = params::required(params::object(input, &at)?, &at)?.get().to_owned();
            Ok(SamplingContent::ToolUse(ToolUse { id: string(id, "id")?, name: string(name, "name")?, input }))
        }
        _ => Err(error::invalid_params(format!("{path}.type"), "must be text, image, audio or tool_use")),
    }
}

fn roots(object: &RawValue, path: &str) -> Result<Reply, ErrorObject> {
    let at = format!("{path}.roots");
    let [roots] = params::members(Some(object), ["roots"], path)?;
    let roots = params::required(params::of_kind(roots, JsonKind::Array, &at)?, &at)?;
    let items = json::items(roots.get(), MAX_ITEMS).map_or_else(Vec::new, |items| items.first);
    let root = |(index, item): (usize, &RawValue)| {
        let at = format!("{at}[{index}]");
        let item = params::required(params::object(Some(item), &at)?, &at)?;
        let [uri, name] = params::members(Some(item), ["uri", "name"], &at)?;
        let uri_path = format!("{at}.uri");
        let uri = params::required(params::string(uri, &uri_path)?, &uri_path)?.into_owned();
        Ok(Root { uri, name: params::string(name, format!("{at}.name"))?.map(Into::into) })
    };
    Ok(Reply::Roots(items.into_iter().enumerate().map(root).collect::<Result<_, ErrorObject>>()?))
}

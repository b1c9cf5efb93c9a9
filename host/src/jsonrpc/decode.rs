//! Decodes the bytes of one frame to messages: encoding, syntax, depth, then the envelope.
//! It does not parse params, and accepts or rejects a frame as a whole.

#![expect(clippy::result_large_err, reason = "the success value is no smaller")]

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{ErrorObject, Frame, Invalid, InvalidId, Message, Notification, Outcome, Request};
use super::{RequestId, Response};
use crate::json::{self, JsonError, Kind, MAX_DEPTH, MembersError, Seen};

/// Maximum elements of a batch. Checked here, so that a frame of a million invalid elements does not
/// create a million error objects.
pub const BATCH_LIMIT: usize = 100;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Decodes one frame: a line without its line break (a trailing CR or LF is ignored)
/// or an HTTP body. `Err` is the only response, even to a batch.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, Invalid> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    // Never repaired with U+FFFD: the repaired message is not the one that was sent.
    let text = str::from_utf8(bytes).map_err(|error| {
        let detail = format!("not valid UTF-8 at byte {}", error.valid_up_to());
        unanswerable(ErrorObject::parse_error("invalid_utf8", &detail))
    })?;
    // An ambiguous message can still be answered under its request id.
    let ambiguous = match json::check(text, MAX_DEPTH) {
        Ok(_) => None,
        Err(error) if error.is_ambiguous() => Some(error),
        Err(error) => return Err(unanswerable(not_json(&error))),
    };
    match text.trim_start().as_bytes().first() {
        Some(b'{') => Ok(Frame::Single(message(text, ambiguous))),
        Some(b'[') => batch(text, ambiguous.is_some()),
        _ => Err(unanswerable(not_an_object())),
    }
}

fn not_json(error: &JsonError) -> ErrorObject {
    let detail = match error.reason {
        json::NESTING => format!("nesting limit of {MAX_DEPTH} passed at byte {}", error.offset),
        _ => error.to_string(),
    };
    ErrorObject::parse_error(error.code(), &detail)
}

/// If `ambiguous`, one of the elements is, so each is checked again separately.
fn batch(text: &str, ambiguous: bool) -> Result<Frame<'_>, Invalid> {
    let refuse = |reason, detail: &str| Err(unanswerable(ErrorObject::invalid_request(reason, detail)));
    let Some(items) = json::items(text, BATCH_LIMIT) else {
        return refuse("invalid_batch", "the batch could not be read");
    };
    if items.count == 0 {
        return refuse("empty_batch", "a batch needs at least one message");
    }
    if items.count > BATCH_LIMIT {
        let detail = format!("a batch may have {BATCH_LIMIT} messages, this one has {}", items.count);
        return refuse("batch_too_long", &detail);
    }
    let messages = items.first.into_iter().map(|raw| match Kind::of(raw) {
        Kind::Object => element(raw.get(), ambiguous),
        _ => Message::Invalid(unanswerable(not_an_object())),
    });
    Ok(Frame::Batch(messages.collect()))
}

fn element(text: &str, ambiguous: bool) -> Message<'_> {
    // One level of the depth is the batch's own.
    match if ambiguous { json::check(text, MAX_DEPTH - 1) } else { Ok(Seen::default()) } {
        Ok(_) => message(text, None),
        Err(error) if error.is_ambiguous() => message(text, Some(error)),
        Err(error) => Message::Invalid(unanswerable(not_json(&error))),
    }
}

fn unanswerable(error: ErrorObject) -> Invalid {
    Invalid { id: None, error }
}

fn not_an_object() -> ErrorObject {
    ErrorObject::invalid_request("not_an_object", "a message must be an object")
}

/// One object to one message. What is `ambiguous` is never acted on, and may not be JSON to its
/// end.
fn message(object: &str, ambiguous: Option<JsonError>) -> Message<'_> {
    let names = ["jsonrpc", "id", "method", "params", "result", "error"];
    let [version, id, method, params, result, error] = match json::members(object, names) {
        Ok(members) => members,
        // With two ids neither can be trusted, so the answer carries none.
        Err(error @ MembersError::Repeated(_)) => {
            let error = ErrorObject::invalid_request("repeated_member", &error.to_string());
            return Message::Invalid(unanswerable(error));
        }
        Err(error) => {
            let error = match ambiguous {
                Some(_) => ErrorObject::parse_error("invalid_json", &error.to_string()),
                None => ErrorObject::invalid_request("not_an_object", &error.to_string()),
            };
            return Message::Invalid(unanswerable(error));
        }
    };
    let id = id.map(RequestId::parse).transpose();
    let version_ok = version.and_then(json::string).is_some_and(|version| version == "2.0");
    if method.is_none() && (result.is_some() || error.is_some()) {
        let outcome = match ambiguous {
            _ if !version_ok => Outcome::Malformed(VERSION),
            Some(fault) => Outcome::Malformed(fault.reason),
            None => outcome(result, error),
        };
        return Message::Response(Response { id: id.ok().flatten(), outcome });
    }
    let parts = CallParts { version_ok, method, params, answered: result.is_some() || error.is_some(), ambiguous };
    call(parts, &id).unwrap_or_else(|error| Message::Invalid(Invalid { id: id.ok().flatten(), error }))
}

const VERSION: &str = "member \"jsonrpc\" must be the string \"2.0\"";

struct CallParts<'a> {
    version_ok: bool,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    /// It has a result or an error besides the method.
    answered: bool,
    ambiguous: Option<JsonError>,
}

/// A request when there is an id, a notification when there is none.
fn call<'a>(call: CallParts<'a>, id: &Result<Option<RequestId>, InvalidId>) -> Result<Message<'a>, ErrorObject> {
    let refuse = |reason, detail: &str| Err(ErrorObject::invalid_request(reason, detail));
    if !call.version_ok {
        return refuse("jsonrpc_version", VERSION);
    }
    let id = match id {
        Ok(id) => id.clone(),
        Err(error) => return refuse("invalid_id", &format!("member \"id\" {error}")),
    };
    if let Some(fault) = call.ambiguous {
        return refuse(fault.code(), &fault.to_string());
    }
    let Some(method) = call.method else {
        return refuse("missing_method", "member \"method\" is missing");
    };
    let Some(method) = json::string(method) else {
        let detail = format!("member \"method\" must be a string, not {}", Kind::of(method).name());
        return refuse("invalid_method", &detail);
    };
    if call.answered {
        return refuse("request_and_response", "a message has a method, or a result or error, not both");
    }
    let params = call.params.filter(|params| Kind::of(params) != Kind::Null);
    let Some(id) = id else {
        return Ok(Message::Notification(Notification { method, params }));
    };
    if let Some(kind) = params.map(Kind::of)
        && !matches!(kind, Kind::Object | Kind::Array)
    {
        let detail = format!("member \"params\" must be an object, not {}", kind.name());
        return refuse("invalid_params_type", &detail);
    }
    Ok(Message::Request(Request { id, method, params }))
}

fn outcome<'a>(result: Option<&'a RawValue>, error: Option<&'a RawValue>) -> Outcome<'a> {
    match (result, error) {
        (Some(_), Some(_)) => Outcome::Malformed("a response has a result or an error, not both"),
        (Some(result), None) => Outcome::Result(result),
        (None, Some(error)) => error_object(error)
            .map_or(Outcome::Malformed("an error needs an integer code and a message"), Outcome::Error),
        (None, None) => Outcome::Malformed("a response needs a result or an error"),
    }
}

fn error_object(raw: &RawValue) -> Option<ErrorObject> {
    let [code, message, data] = json::members(raw.get(), ["code", "message", "data"]).ok()?;
    Some(ErrorObject {
        code: code?.get().parse().ok()?,
        message: json::string(message?).map(Cow::into_owned)?,
        data: data.and_then(|data| json::tree(data.get(), MAX_DEPTH).ok()),
    })
}

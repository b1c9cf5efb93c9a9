//! All errors of the protocol layer: codes and messages in one place.
//! `data` is always an object with a stable snake_case `reason`. A tool's own failure is a result,
//! not an error, and is not here.

use std::fmt::Display;

use serde_json::{Value, json};

pub use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};

use super::ask::Ask;
use super::keys::{CLIENT_CAPABILITIES, PROTOCOL_VERSION};
use super::methods::methods;
use super::nearest::{did_you_mean, nearest};
use super::revision::Revision;

/// A header does not match the body (2026-07-28 streamable HTTP).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a client capability that its `_meta` does not declare (2026-07-28 basic).
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// `_meta` names a revision that is not served statelessly (2026-07-28 basic/versioning).
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The access token has not the scopes that the request needs. A code of our own: the specification has only the
/// status 403 of HTTP for it.
pub const INSUFFICIENT_SCOPE: i64 = -32003;

/// Maximum names or violations that an error lists.
const SUGGESTIONS: usize = 20;
/// Maximum characters of a client's input that an error repeats.
const ECHOED: usize = 128;
/// The same of a URI.
const ECHOED_URI: usize = 256;

/// The method does not exist in `revision`, whatever other revisions have.
pub fn method_not_found(revision: Revision, method: &str) -> ErrorObject {
    let close = did_you_mean(method, methods(revision).iter().copied().filter(|m| *m != method));
    let mut data = json!({ "reason": "method_not_found", "method": echo(method) });
    let mut message = format!("Method not found: {}", echo(method));
    if let Some(close) = close {
        data["didYouMean"] = close.into();
        message = format!("{message}; did you mean {close}?");
    }
    ErrorObject::new(METHOD_NOT_FOUND, message, data)
}

/// The method exists, but the server does not offer its capability.
pub fn not_offered(method: &str, capability: &str) -> ErrorObject {
    ErrorObject::new(
        METHOD_NOT_FOUND,
        format!("Method not found: {}, since this server has no {capability}", echo(method)),
        json!({ "reason": "capability_not_offered", "method": echo(method), "capability": capability }),
    )
}

/// -32602 at `path` (as `params.name`); `detail` is a lowercase fragment, or the text of a plugin.
pub fn invalid_params(path: impl Display, detail: &str) -> ErrorObject {
    let path = echo(&path.to_string());
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Invalid params: {path}: {detail}"),
        json!({ "reason": "invalid_params", "path": path, "detail": detail }),
    )
}

/// A tool's arguments do not fit its schema, in the revisions where that is an error.
/// `first` is the first of them, with its place; `errors` has one entry per violation, in the caller's form.
pub fn invalid_arguments(tool: &str, first: &str, errors: impl Iterator<Item = Value>) -> ErrorObject {
    let errors: Vec<Value> = errors.take(SUGGESTIONS).collect();
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Invalid arguments for tool {}: {first}", echo(tool)),
        json!({ "reason": "invalid_arguments", "toolName": echo(tool), "errors": errors }),
    )
}

/// -32602 in every revision; `available` in any order.
pub fn unknown_tool<'n>(name: &str, available: impl IntoIterator<Item = &'n str>) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Unknown tool: {}", echo(name)),
        json!({
            "reason": "tool_not_found",
            "toolName": echo(name),
            "availableTools": nearest(name, available, SUGGESTIONS),
        }),
    )
}

/// -32602 in every revision; `available` in any order.
pub fn unknown_prompt<'n>(name: &str, available: impl IntoIterator<Item = &'n str>) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Unknown prompt: {}", echo(name)),
        json!({
            "reason": "prompt_not_found",
            "promptName": echo(name),
            "availablePrompts": nearest(name, available, SUGGESTIONS),
        }),
    )
}

/// Required arguments of a prompt are absent.
pub fn missing_arguments(prompt: &str, missing: &[&str]) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Missing arguments of prompt {}: {}", echo(prompt), missing.join(", ")),
        json!({ "reason": "missing_argument", "promptName": echo(prompt), "arguments": missing }),
    )
}

/// -32602: completion for an unlisted template.
pub fn unknown_template<'n>(uri: &str, available: impl IntoIterator<Item = &'n str>) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Unknown resource template: {}", echo(uri)),
        json!({
            "reason": "template_not_found",
            "uri": echo(uri),
            "availableTemplates": nearest(uri, available, SUGGESTIONS),
        }),
    )
}

/// -32602: completion for an argument that the prompt or template `of` does not have.
pub fn unknown_argument<'n>(of: &str, name: &str, available: impl IntoIterator<Item = &'n str>) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Unknown argument of {}: {}", echo(of), echo(name)),
        json!({
            "reason": "argument_not_found",
            "argument": echo(name),
            "availableArguments": nearest(name, available, SUGGESTIONS),
        }),
    )
}

/// The code differs by revision: see [`Revision::resource_not_found_code`].
pub fn resource_not_found(revision: Revision, uri: &str) -> ErrorObject {
    ErrorObject::new(
        revision.resource_not_found_code(),
        format!("Resource not found: {}", echo(uri)),
        // The specification defines this member; most URIs fit.
        json!({ "reason": "resource_not_found", "uri": truncate(uri, ECHOED_URI) }),
    )
}

/// No skill has its `SKILL.md` there.
pub fn skill_not_found(uri: &str) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Skill not found: {}", echo(uri)),
        json!({ "reason": "skill_not_found", "uri": truncate(uri, ECHOED_URI) }),
    )
}

/// No skill has a folder there.
pub fn directory_not_found(uri: &str) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Directory not found: {}", echo(uri)),
        json!({ "reason": "directory_not_found", "uri": truncate(uri, ECHOED_URI) }),
    )
}

/// The cursor was not issued by this server, or the list has changed since.
pub fn invalid_cursor() -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        "Invalid cursor: list again from the start",
        json!({ "reason": "invalid_cursor", "path": "params.cursor" }),
    )
}

/// `path` is that of the level.
pub fn invalid_log_level(path: &str, level: &str) -> ErrorObject {
    let levels: Vec<&str> = super::Level::ALL.iter().map(|level| level.as_str()).collect();
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Invalid log level: {}", echo(level)),
        json!({ "reason": "invalid_log_level", "path": path, "availableLevels": levels }),
    )
}

/// -32022. Only revisions that can be named in `_meta` are listed: the client will
/// choose one of them for its next request.
pub fn unsupported_version(requested: &str) -> ErrorObject {
    ErrorObject::new(
        UNSUPPORTED_VERSION,
        format!("Unsupported protocol version: {}", echo(requested)),
        json!({
            "reason": "unsupported_protocol_version",
            "supported": Revision::MODERN.map(Revision::as_str),
            "requested": echo(requested),
        }),
    )
}

/// -32021.
pub fn missing_client_capability(ask: Ask) -> ErrorObject {
    ErrorObject::new(
        MISSING_CLIENT_CAPABILITY,
        format!("Missing required client capability: {}, to {}", ask.name(), ask.purpose()),
        json!({
            "reason": "missing_client_capability",
            "requiredCapabilities": ask.required(),
        }),
    )
}

/// -32021: the request needs an extension that its client does not declare.
pub fn missing_extension(extension: &str, purpose: &str) -> ErrorObject {
    ErrorObject::new(
        MISSING_CLIENT_CAPABILITY,
        format!("Missing required client capability: extensions[\"{extension}\"], to {purpose}"),
        json!({
            "reason": "missing_client_capability",
            "requiredCapabilities": { "extensions": { extension: {} } },
        }),
    )
}

/// A limit of tasks is reached; `limit` says which.
pub fn too_many_tasks(limit: &str) -> ErrorObject {
    internal("too_many_tasks", &format!("no more tasks now: {limit}"))
}

/// -32602: there is no such task, or it is not the sender's.
pub fn unknown_task(id: &str) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("Unknown task: {}; it may have expired", echo(id)),
        json!({ "reason": "task_not_found", "path": "params.taskId", "taskId": echo(id) }),
    )
}

/// A task cannot go on: the tool is gone, its plugin is another version, or it is not allowed any more.
pub fn task_without_plugin(tool: &str) -> ErrorObject {
    ErrorObject::new(
        INTERNAL_ERROR,
        format!("The task cannot go on: the tool has changed since, or may not be called any more: {}", echo(tool)),
        json!({ "reason": "task_tool_changed", "toolName": echo(tool) }),
    )
}

/// The record of a task cannot be understood.
pub fn damaged_task() -> ErrorObject {
    internal("host_error", "a task's record is damaged")
}

/// The result of a task is too long for what its caller may keep.
pub fn task_result_not_kept(bytes: usize) -> ErrorObject {
    ErrorObject::new(
        INTERNAL_ERROR,
        format!("The task has ended, and its result of {bytes} bytes is not kept: its caller keeps too much already"),
        json!({ "reason": "task_result_not_kept", "bytes": bytes }),
    )
}

/// The process that ran the task has ended.
pub fn task_interrupted() -> ErrorObject {
    ErrorObject::new(
        INTERNAL_ERROR,
        "The task was interrupted: the server that ran it has ended",
        json!({ "reason": "task_interrupted" }),
    )
}

/// -32602: a task that has ended cannot be cancelled (2025-11-25).
pub fn ended_task(id: &str, status: &str) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!("The task has ended already, with the status {status}: {}", echo(id)),
        json!({ "reason": "task_ended", "path": "params.taskId", "taskId": echo(id), "status": status }),
    )
}

/// -32601: the tool cannot be called with `params.task`, or only so (2025-11-25).
pub fn task_support(tool: &str, required: bool) -> ErrorObject {
    let (detail, support) = if required {
        ("runs as a task only: send params.task", "required")
    } else {
        ("cannot run as a task: leave params.task out", "forbidden")
    };
    ErrorObject::new(
        METHOD_NOT_FOUND,
        format!("Tool {} {detail}", echo(tool)),
        json!({ "reason": "task_support", "toolName": echo(tool), "taskSupport": support }),
    )
}

/// -32602: a `requestState` that is invalid.
pub fn foreign_state() -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        "Invalid requestState: it was changed, or issued for another request or another version of the plugin; \
         send the request again without requestState and inputResponses",
        json!({ "reason": "invalid_request_state", "path": "params.requestState" }),
    )
}

/// -32602: a `requestState` that has expired.
pub fn expired_state(limit: std::time::Duration) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!(
            "Invalid requestState: it is older than {} minutes; \
             send the request again without requestState and inputResponses",
            limit.as_secs() / 60
        ),
        json!({ "reason": "request_state_expired", "path": "params.requestState" }),
    )
}

/// -32602: a `requestState` that is accepted once, and was used.
pub fn used_state() -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        "Invalid requestState: it was used before; send the request again without requestState and inputResponses",
        json!({ "reason": "request_state_used", "path": "params.requestState" }),
    )
}

/// -32003: a token with all of these scopes could do it.
pub fn insufficient_scope(scopes: &[Box<str>]) -> ErrorObject {
    let scope = scopes.join(" ");
    ErrorObject::new(
        INSUFFICIENT_SCOPE,
        format!("Insufficient scope: this needs an access token with the scope {scope}"),
        json!({ "reason": "insufficient_scope", "scope": scope }),
    )
}

/// -32603: the connection has reached its limit of running requests.
pub fn too_many_requests() -> ErrorObject {
    internal("too_many_requests", "too many or too large requests are pending; send fewer at a time")
}

/// -32603: nothing was done; the request may be retried.
pub fn busy(detail: &str) -> ErrorObject {
    internal("busy", &format!("busy: {detail}"))
}

/// -32603: nothing was done; it may be sent again after so many seconds. `None`: it never fits.
pub fn over_budget(detail: &str, seconds: Option<u64>) -> ErrorObject {
    let Some(seconds) = seconds else { return internal("over_budget", detail) };
    let data = json!({ "reason": "busy", "retryAfter": seconds });
    ErrorObject::new(INTERNAL_ERROR, format!("Busy: {detail}"), data)
}

/// -32603: too many unread bytes: no further request is started.
pub fn unread_answers() -> ErrorObject {
    busy("too many response bytes are unread; read them, then send this request again")
}

/// -32603: it was done, but its response exceeds the limit of unread bytes.
pub fn answer_not_kept(bytes: usize) -> ErrorObject {
    let detail = format!(
        "the request was processed, but its response of {bytes} bytes was dropped: too many response bytes \
         are unread"
    );
    internal("answer_not_kept", &detail)
}

/// -32603: the server shuts down before the request is finished.
pub fn shutting_down() -> ErrorObject {
    internal("shutting_down", "the server is shutting down and has cancelled this request")
}

/// -32603: a required audit record cannot be written. `done`: the request had been started already.
pub fn not_recorded(done: bool) -> ErrorObject {
    let detail = if done {
        "the call was made, but the server cannot write its audit log, so its result is withheld; \
         check its effects before you retry it"
    } else {
        "the server cannot write its audit log, which calls require; nothing was done, retry later"
    };
    let data = json!({ "reason": "not_recorded", "done": done, "retryable": !done });
    ErrorObject::new(INTERNAL_ERROR, format!("Internal error: {detail}"), data)
}

/// -32020. `detail` names the header and what was expected.
pub fn header_mismatch(header: &str, detail: &str) -> ErrorObject {
    ErrorObject::new(
        HEADER_MISMATCH,
        format!("Header mismatch: {header} {detail}"),
        json!({ "reason": "header_mismatch", "header": header }),
    )
}

/// -32602 for a request that neither opens a session nor is stateless.
pub fn missing_meta(method: &str) -> ErrorObject {
    ErrorObject::new(
        INVALID_PARAMS,
        format!(
            "Invalid params: {} was sent before a handshake; send initialize first, or put {} and {} in params._meta",
            echo(method),
            PROTOCOL_VERSION,
            CLIENT_CAPABILITIES,
        ),
        json!({
            "reason": "missing_meta",
            "method": echo(method),
            "required": [PROTOCOL_VERSION, CLIENT_CAPABILITIES],
            "supported": Revision::MODERN.map(Revision::as_str),
        }),
    )
}

/// -32600 for a batch in a revision without batches.
pub fn batch_not_allowed(detail: &str) -> ErrorObject {
    ErrorObject::invalid_request("batch_not_allowed", detail)
}

/// -32600: a request with this id is still running.
pub fn id_in_use() -> ErrorObject {
    ErrorObject::invalid_request("id_in_use", "a request with this id is not answered yet")
}

/// -32603; `reason` is snake_case (`plugin_trap`, `plugin_timeout`, …), `detail` is for
/// people and must hold no path of the host.
pub fn internal(reason: &str, detail: &str) -> ErrorObject {
    ErrorObject::new(INTERNAL_ERROR, format!("Internal error: {detail}"), json!({ "reason": reason }))
}

/// The host failed; the details are in its log.
pub fn host_error() -> ErrorObject {
    internal("host_error", "internal host error while handling this request")
}

/// -32603: a result contains invalid JSON.
pub fn unwritable(fault: &impl Display) -> ErrorObject {
    internal("unwritable", &format!("the result could not be written: {fault}"))
}

/// -32603: a plugin failed in a method whose result cannot express it. `code` is that of the fault,
/// `more` an object of its details, `sentence` is for people.
pub fn plugin_fault(plugin: &str, code: &str, mut more: Value, sentence: &str) -> ErrorObject {
    let mut data = json!({ "reason": "plugin_fault", "plugin": plugin, "code": code });
    if let (Some(data), Some(more)) = (data.as_object_mut(), more.as_object_mut()) {
        data.append(more);
    }
    ErrorObject::new(INTERNAL_ERROR, sentence, data)
}

/// The client's input, truncated.
fn echo(text: &str) -> String {
    truncate(text, ECHOED)
}

fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

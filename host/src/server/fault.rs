//! Converts the failure of a call to a result or an error of the wire.
//!
//! A tool's fault is a result that the model can act on; it names the plugin as the cause. The
//! host's own faults are never reported to a guest.

use serde::Serialize;
use serde_json::json;

use super::refusal::Refusal;
use super::response::Response;
use super::scope::Scope;
use super::wire::{self, tool::CallToolResult};
use crate::catalog::Entry;
use crate::json::{self, Raw};
use crate::plugin::abi::GuestError;
use crate::plugin::{Access, CallError, FrozenTool, PluginId, Violation};
use crate::protocol::result::{self, Envelope};
use crate::protocol::{Ask, ErrorObject, Implementation, error};
use crate::text::quote;

/// Maximum violations reported.
const MAX_VIOLATIONS: usize = 10;

/// The response to a tool call that failed.
pub(super) fn tool(server: &Implementation, scope: &Scope, entry: &Entry<FrozenTool>, error: Refusal) -> Response {
    let plugin = entry.provider.id();
    match error {
        Refusal::Request(error) => Err(error),
        Refusal::NeedsClient(ask) if scope.revision.has_capability_error() => {
            Err(error::missing_client_capability(ask))
        }
        Refusal::NeedsClient(ask) => {
            let text = needs_client(&format!("Tool '{}'", entry.name), ask);
            failed(server, scope, entry, &FaultMeta::new(entry, "denied"), &text)
        }
        Refusal::TooManyRounds => {
            failed(server, scope, entry, &FaultMeta::new(entry, "bad-output"), &too_many_rounds(plugin))
        }
        Refusal::Unapproved(why) => {
            let meta = FaultMeta { approval: why.request(), ..FaultMeta::new(entry, why.code()) };
            result_of(server, scope, &format!("Tool '{}' was not run: {why}.", entry.name), &meta)
        }
        Refusal::Call(CallError::Fault(fault)) => {
            let (limit, access) = (fault.limit(), fault.access().map(Access::name));
            let meta = FaultMeta { limit, access, ..FaultMeta::new(entry, fault.code()) };
            failed(server, scope, entry, &meta, &fault.sentence(plugin))
        }
        Refusal::Call(CallError::Guest(GuestError::Failed(text))) => {
            result::object(scope.revision, server, &CallToolResult::failed(&text), Envelope::default())
        }
        Refusal::Call(CallError::Input(violations)) => invalid_arguments(server, scope, entry, &violations),
        Refusal::Call(CallError::Guest(GuestError::InvalidInput(input))) => {
            let violation = Violation { path: input.path, reason: input.reason, expected: String::new() };
            invalid_arguments(server, scope, entry, &[violation])
        }
        // A contradiction: the plugin lists the tool.
        Refusal::Call(CallError::Guest(GuestError::NotFound)) => {
            let text = format!("Plugin '{plugin}' lists the tool '{}' but does not know it.", entry.name);
            failed(server, scope, entry, &FaultMeta::new(entry, "bad-output"), &text)
        }
    }
}

/// The error for methods whose result cannot express a failure. `input` is the path of the params
/// that the plugin was given, `not_found` the error if it does not know the subject.
pub(super) fn without_result(
    scope: &Scope,
    plugin: &PluginId,
    input: &str,
    not_found: ErrorObject,
    error: Refusal,
) -> ErrorObject {
    match error {
        Refusal::Request(error) => error,
        Refusal::NeedsClient(ask) if scope.revision.has_capability_error() => error::missing_client_capability(ask),
        Refusal::NeedsClient(ask) => {
            let text = needs_client(&format!("Plugin '{plugin}'"), ask);
            error::plugin_fault(plugin.as_ref(), "denied", json!({}), &text)
        }
        Refusal::TooManyRounds => {
            error::plugin_fault(plugin.as_ref(), "bad-output", json!({}), &too_many_rounds(plugin))
        }
        // Only tools are asked about.
        Refusal::Unapproved(why) => error::plugin_fault(plugin.as_ref(), why.code(), json!({}), &why.to_string()),
        Refusal::Call(CallError::Fault(fault)) => {
            let more = match (fault.limit(), fault.access()) {
                (Some(limit), _) => json!({ "limit": limit }),
                (None, Some(access)) => json!({ "access": access.name() }),
                (None, None) => json!({}),
            };
            error::plugin_fault(plugin.as_ref(), fault.code(), more, &fault.sentence(plugin))
        }
        Refusal::Call(CallError::Guest(GuestError::Failed(text))) => {
            error::plugin_fault(plugin.as_ref(), "failed", json!({}), &format!("Plugin '{plugin}' failed: {text}"))
        }
        Refusal::Call(CallError::Input(violations)) => {
            let wrong = violations.into_iter().next().unwrap_or_default();
            invalid_params(input, &wrong.path, &wrong.reason)
        }
        Refusal::Call(CallError::Guest(GuestError::InvalidInput(wrong))) => {
            invalid_params(input, &wrong.path, &wrong.reason)
        }
        Refusal::Call(CallError::Guest(GuestError::NotFound)) => not_found,
    }
}

/// `pointer` leads from `input` to what is wrong.
fn invalid_params(input: &str, pointer: &str, reason: &str) -> ErrorObject {
    let parts = pointer.split('/').filter(|part| !part.is_empty());
    let place: String = parts.map(|part| format!(".{}", quote(part, usize::MAX))).collect();
    error::invalid_params(format!("{input}{place}"), &on_one_line(reason))
}

/// A plugin's own reason may have several lines.
fn on_one_line(reason: &str) -> String {
    quote(&reason.lines().map(str::trim).collect::<Vec<_>>().join(" "), usize::MAX)
}

fn needs_client(who: &str, ask: Ask) -> String {
    let (capability, purpose) = (ask.name(), ask.purpose());
    format!("{who} needs to {purpose}, and the client does not declare the capability {capability}.")
}

fn too_many_rounds(plugin: &PluginId) -> String {
    format!("Plugin '{plugin}' asked the client too many times in one call.")
}

/// Invalid arguments: a result or an error, depending on the revision.
pub(super) fn invalid_arguments(
    server: &Implementation,
    scope: &Scope,
    entry: &Entry<FrozenTool>,
    violations: &[Violation],
) -> Response {
    let reported = &violations[..violations.len().min(MAX_VIOLATIONS)];
    if !scope.revision.invalid_arguments_are_results() {
        let place = |violation: &Violation| format!("{}: {}", place(violation), on_one_line(&violation.reason));
        let first = reported.first().map(place).unwrap_or_default();
        return Err(error::invalid_arguments(entry.name.as_str(), &first, reported.iter().map(entry_of)));
    }
    let lines: Vec<String> = reported.iter().map(item).collect();
    let text = format!("Invalid arguments for tool '{}':\n{}", entry.name, lines.join("\n"));
    let errors = reported.iter().map(entry_of).collect();
    result_of(server, scope, &text, &FaultMeta { errors, ..FaultMeta::new(entry, "bad-input") })
}

/// The JSON Pointer, the reason and the violated part of the schema.
fn entry_of(violation: &Violation) -> serde_json::Value {
    let mut entry = json!({"path": violation.path, "reason": violation.reason});
    if let Ok(expected) = json::tree(&violation.expected, json::MAX_DEPTH) {
        entry["expected"] = expected;
    }
    entry
}

fn place(violation: &Violation) -> String {
    if violation.path.is_empty() { "the arguments".to_owned() } else { quote(&violation.path, usize::MAX) }
}

/// An item of a list. Further lines of the reason are indented, so that none looks like another item.
fn item(violation: &Violation) -> String {
    let expected = if violation.expected.is_empty() {
        String::new()
    } else {
        format!("; expected {}", quote(&violation.expected, usize::MAX))
    };
    let reason: Vec<String> = violation.reason.lines().map(|line| quote(line, usize::MAX)).collect();
    format!("- {}: {}{expected}", place(violation), reason.join("\n    "))
}

/// The description of a failure in `_meta`, for programs.
#[derive(Serialize)]
struct FaultMeta<'a> {
    plugin: &'a str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
    /// The request that an operator has to decide on.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<serde_json::Value>,
}

impl<'a> FaultMeta<'a> {
    fn new(entry: &'a Entry<FrozenTool>, code: &'static str) -> Self {
        Self {
            plugin: entry.provider.id().as_ref(),
            code,
            limit: None,
            access: None,
            approval: None,
            errors: Vec::new(),
        }
    }
}

fn failed(
    server: &Implementation,
    scope: &Scope,
    entry: &Entry<FrozenTool>,
    meta: &FaultMeta<'_>,
    text: &str,
) -> Response {
    tracing::warn!(plugin = %entry.provider.id(), tool = %entry.name, "a call failed: {text}");
    result_of(server, scope, text, meta)
}

fn result_of(server: &Implementation, scope: &Scope, text: &str, meta: &FaultMeta<'_>) -> Response {
    let meta = wire::text(meta)?;
    let envelope = Envelope { host_meta: &[("wharf/fault", Raw(&meta))], ..Envelope::default() };
    result::object(scope.revision, server, &CallToolResult::failed(text), envelope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_a_plugin_begin_no_line_of_their_own() {
        let violation = |path: &str, reason: &str| Violation {
            path: path.to_owned(),
            reason: reason.to_owned(),
            expected: String::new(),
        };
        assert_eq!(item(&violation("/id", "there is no note")), "- /id: there is no note");
        assert_eq!(item(&violation("/a\n- /b", "x\n- /c: y\u{1b}")), "- /a\\n- /b: x\n    - /c: y\\u{1b}");
        assert_eq!(item(&violation("", "")), "- the arguments: ");
        for (pointer, place) in
            [("/id", "params.arguments.id"), ("id", "params.arguments.id"), ("", "params.arguments")]
        {
            let error = invalid_params("params.arguments", pointer, "there is\n  no note").message;
            assert!(error.contains(&format!("Invalid params: {place}: there is no note")), "{error}");
        }
    }
}

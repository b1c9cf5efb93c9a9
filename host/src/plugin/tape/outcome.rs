//! The outcome of a call as JSON: to be compared and shown, never read back.

use serde_json::{Value, json};

use super::kept::{Kept, member};
use crate::plugin::fault::{CallError, Fault};
use crate::plugin::id::PluginId;

/// What a caller got of that plugin.
pub(in crate::plugin) fn outcome<T: Kept>(plugin: &PluginId, outcome: &Result<T, CallError>) -> Value {
    match outcome {
        Ok(outcome) => outcome.keep(),
        Err(CallError::Guest(error)) => member("error", error.keep()),
        Err(CallError::Input(violations)) => {
            let one = |violation: &crate::plugin::schema::Violation| json!([violation.path, violation.reason]);
            member("violations", violations.iter().map(one).collect())
        }
        Err(CallError::Fault(fault)) => member("fault", of_fault(plugin, fault)),
    }
}

fn of_fault(plugin: &PluginId, fault: &Fault) -> Value {
    json!({"code": fault.code(), "message": fault.sentence(plugin)})
}

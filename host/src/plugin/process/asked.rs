//! What a worker asks of the server, for its guest: values that it keeps, and secrets of the caller.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::identity::Identity;
use crate::plugin::id::PluginId;
use crate::plugin::imports::granted::Resources;
use crate::plugin::policy::grants::Grants;
use crate::plugin::policy::secret::Missing;
use crate::plugin::tape::kept::Kept;

/// A secret of a caller: its name, and whether it is a token that is exchanged for that of the caller.
pub(super) fn secret_question(name: &str, is_exchanged: bool, caller: &str) -> Value {
    json!({"secret": name, "exchanged": is_exchanged, "of": caller})
}

/// Answers a question. `callers` have a call running. `None`: the plugin may not ask that.
pub(super) async fn answer(
    resources: &Resources,
    plugin: &PluginId,
    grants: &Grants,
    callers: &[Arc<Identity>],
    question: &Value,
) -> Option<Value> {
    let Some(name) = question["secret"].as_str() else {
        let granted: Vec<_> = grants.parts().filter_map(|part| part.keyvalue).collect();
        return resources.keyvalue.answer(plugin, &granted, callers, question).await;
    };
    let is_exchanged = question["exchanged"].as_bool()?;
    let mut own = grants.parts().flat_map(|part| &part.secrets).filter(|secret| secret.name == name);
    own.find(|secret| if is_exchanged { secret.is_exchanged() } else { secret.is_personal() })?;
    let who = question["of"].as_str()?;
    let caller = callers.iter().find(|caller| **caller.name() == *who)?;
    let value = resources.personal.value(name, is_exchanged, caller).await;
    Some(value.map(|text| text.expose().to_owned()).keep())
}

/// The answer to [`secret_question`].
pub(super) fn secret(answer: Option<&Value>) -> Result<String, Missing> {
    let unanswered = || Missing { why: "cannot be had now".into(), hint: "try again".into(), temporary: true };
    answer.and_then(Kept::read).unwrap_or_else(|| Err(unanswered()))
}

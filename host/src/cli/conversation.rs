//! One request from the shell, and the plugin's questions in between.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use wharf_report::warning;

use super::ask::Answers;
use super::json_text::indented;
use super::local::Local;
use crate::json;
use crate::report::{self, Failure};
use crate::text::escape_hidden_in_json;

/// The result of a request.
pub(super) struct Answer {
    raw: Box<RawValue>,
    pub(super) parsed: Value,
}

impl Answer {
    /// Prints the result: as MCP JSON, or the text that `shown` makes of it.
    pub(super) fn print(&self, as_json: bool, shown: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        // Plugin output must not control the terminal.
        let text = if as_json { indented(&escape_hidden_in_json(self.raw.get())) } else { shown(&self.parsed) };
        report::print(&text)
    }
}

/// The parameters of a tool call, or of a request for a prompt.
pub(super) fn with_arguments(name: &str, arguments: Value) -> Map<String, Value> {
    Map::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments)])
}

/// Sends a request, with answers to what the plugin asks, until there is a result.
pub(super) async fn converse(
    local: &mut Local,
    method: &str,
    mut params: Map<String, Value>,
    answers: &Answers,
) -> Result<Answer, Failure> {
    let capabilities = answers.capabilities();
    loop {
        let raw = local.request(method, params.clone(), capabilities.clone()).await?;
        let parsed = json::tree(raw.get(), json::MAX_DEPTH);
        let mut parsed = parsed.map_err(|error| Failure::new(format!("read the result: {error}")))?;
        if parsed["resultType"] != "input_required" {
            for name in answers.unused() {
                warning(&format!("--answer {name}: nothing asked for it"));
            }
            return Ok(Answer { raw, parsed });
        }
        // No call is running now, so this thread may block on the terminal.
        params.insert("inputResponses".to_owned(), answers.to(&parsed["inputRequests"])?);
        params.insert("requestState".to_owned(), parsed["requestState"].take());
    }
}

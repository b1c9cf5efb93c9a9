//! One request from the shell, and the plugin's questions in between.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ask::Answers;
use super::local::Local;
use crate::json;
use crate::report::Failure;

/// The result of a call, as text and parsed.
pub(super) async fn converse(
    local: &mut Local,
    method: &str,
    mut params: Map<String, Value>,
    answers: &Answers,
) -> Result<(Box<RawValue>, Value), Failure> {
    let capabilities = answers.capabilities();
    loop {
        let result = local.request(method, params.clone(), capabilities.clone()).await?;
        let parsed = json::tree(result.get(), json::MAX_DEPTH);
        let mut parsed = parsed.map_err(|error| Failure::new(format!("read the result: {error}")))?;
        if parsed["resultType"] != "input_required" {
            return Ok((result, parsed));
        }
        // No call is running now, so this thread may block on the terminal.
        params.insert("inputResponses".to_owned(), answers.to(&parsed["inputRequests"])?);
        params.insert("requestState".to_owned(), parsed["requestState"].take());
    }
}

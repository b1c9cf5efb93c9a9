//! How one tool, prompt or resource is used, for `wharf list` and after a wrong call.

use serde_json::Value;

use crate::plugin::text::printable;
use crate::plugin::{Parameter, parameters, signature};
use crate::report::NAME;

/// A tool of `tools/list`: its signature, description, parameters, and what it gives.
pub(super) fn tool(tool: &Value) -> String {
    let name = tool["name"].as_str().unwrap_or_default();
    let signature = signature(name, &tool["inputSchema"]);
    let mut text = format!("{NAME}{name}{NAME:#}{}\n", signature.strip_prefix(name).unwrap_or(&signature));
    // A tool without a description has its signature in place of one.
    let about = ["title", "description"].map(|key| tool[key].as_str().unwrap_or_default());
    text += &described(about.iter().copied().filter(|about| !about.contains(&signature)));
    text += &members(&parameters(&tool["inputSchema"]));
    if let Some(schema) = tool.get("outputSchema") {
        let gives = parameters(schema);
        text += if gives.is_empty() { "\nGives structured content.\n" } else { "\nGives\n" };
        text += &members(&gives);
    }
    let hint = |key: &str, on: &'static str| (tool["annotations"][key] == true).then_some(on);
    let hints: Vec<&str> = [
        hint("readOnlyHint", "read-only"),
        hint("destructiveHint", "destructive"),
        hint("idempotentHint", "idempotent"),
        hint("openWorldHint", "open world"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !hints.is_empty() {
        text += &format!("\nHints: {}\n", hints.join(", "));
    }
    text
}

fn described<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for about in texts.filter(|about| !about.is_empty()) {
        for line in printable(about).lines() {
            text += &format!("  {line}\n");
        }
    }
    text
}

fn members(members: &[Parameter<'_>]) -> String {
    let mut text = String::new();
    for member in members {
        text += &format!("\n  {}\n", printable(&member.to_string()));
        for line in printable(member.description.unwrap_or_default()).lines() {
            text += &format!("      {line}\n");
        }
    }
    text
}

//! How one tool, prompt or resource is used, for `wharf list` and after a wrong call.

use serde_json::Value;

use crate::plugin::abi::TaskSupport;
use crate::plugin::{Parameter, parameters, signature};
use crate::report::NAME;
use crate::text::{printable, quote};

/// Bytes of a prompt's signature.
const SIGNATURE: usize = 600;

/// A tool of `tools/list`: its signature, description, parameters, and result.
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

/// Whether calls of a tool become tasks, which the newest revision does not say.
pub(super) fn task_support(support: TaskSupport) -> &'static str {
    match support {
        TaskSupport::Forbidden => "",
        TaskSupport::Optional => "\nMay run as a task.\n",
        TaskSupport::Required => "\nRuns as a task only.\n",
    }
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

/// A resource of `resources/list`, or a template.
pub(super) fn resource(resource: &Value, key: &str) -> String {
    let field = |key: &str| resource[key].as_str().unwrap_or_default();
    let mut text = format!("{NAME}{}{NAME:#}\n", printable(field(key)));
    let title = if field("title").is_empty() { field("name") } else { field("title") };
    text += &described([title, field("description")].into_iter());
    if !field("mimeType").is_empty() {
        text += &format!("\nGives {}\n", printable(field("mimeType")));
    }
    text
}

/// A prompt of `prompts/list`.
pub(super) fn prompt(prompt: &Value) -> String {
    let name = prompt["name"].as_str().unwrap_or_default();
    let arguments = prompt["arguments"].as_array().map_or(&[][..], Vec::as_slice);
    let pair =
        |argument: &'_ Value| (argument["name"].as_str().unwrap_or_default().to_owned(), argument["required"] == true);
    let pairs: Vec<(String, bool)> = arguments.iter().map(pair).collect();
    let signature = prompt_signature(name, pairs.iter().map(|(name, required)| (name.as_str(), *required)));
    let mut text = format!("{NAME}{name}{NAME:#}{}\n", signature.strip_prefix(name).unwrap_or(&signature));
    text += &described(["title", "description"].iter().map(|key| prompt[*key].as_str().unwrap_or_default()));
    for (argument, (name, required)) in arguments.iter().zip(&pairs) {
        text += &format!("\n  {}{}\n", printable(name), if *required { "" } else { "?" });
        for line in printable(argument["description"].as_str().unwrap_or_default()).lines() {
            text += &format!("      {line}\n");
        }
    }
    text
}

/// A prompt's arguments on one line, each with whether it is required: `summarise(id?)`.
pub(super) fn prompt_signature<'a>(name: &str, arguments: impl Iterator<Item = (&'a str, bool)>) -> String {
    let arguments = arguments.map(|(name, required)| format!("{name}{}", if required { "" } else { "?" }));
    quote(&format!("{name}({})", arguments.collect::<Vec<_>>().join(", ")), SIGNATURE)
}

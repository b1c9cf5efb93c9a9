//! `wharf call`: one tool call from the shell.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use wharf_report::{DIM, hint, line, shell_word};

use super::arguments::Arguments;
use super::confirm::can_ask;
use super::conversation::{converse, with_arguments};
use super::grant;
use super::json_text::indented;
use super::local::Local;
use super::options::Options;
use super::request::RequestOptions;
use super::shown::replaced;
use super::suspected;
use super::unapproved::{Wanted, load};
use crate::catalog::Entry;
use crate::json;
use crate::plugin::{FrozenTool, PluginId, signature};
use crate::report::{self, Failure, NAME, Screen};
use crate::text::{escape_hidden_in_json, printable};

/// Log filter of a request: warnings, and what the plugin prints and logs, stacks of exceptions too. The result has the
/// cause of a failure, and the command prints how to grant what is missing, so the server need not.
pub(super) const LOG_FILTER: &str = "warn,guest=info,guest::stack=debug,wharf::plugin=info,wharf::missing_grant=off,\
     wharf::unusable_grant=off,wharf::server::fault=off";

#[derive(Args)]
pub(super) struct CallOptions {
    #[command(flatten)]
    request: RequestOptions,
    /// The tool's name, as `wharf list` shows it
    tool: String,
    /// KEY=VALUE for each argument, by its type in the tool's schema; or KEY:=JSON; or all as one JSON object,
    /// which `-` reads from stdin
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl CallOptions {
    /// Of the component, or of the plugin folder.
    pub(super) fn path(&self) -> &Path {
        &self.request.path
    }
}

pub(super) async fn run(options: &Options, how: CallOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let CallOptions { request: RequestOptions { path, answers, json }, tool, arguments } = how;
    let answers = answers.read()?;
    let mut local = load(options, &path, Wanted::Tool(&tool), screen).await?;
    let entry = local.tool(&tool)?;
    // What clients are shown, and not what the plugin wrote.
    let schema = json::tree(&entry.item().tool.input_schema, json::MAX_DEPTH);
    let schema = schema.map_err(|error| Failure::new(format!("read the tool's schema: {error}")))?;
    let signature = signature(entry.name.as_str(), &schema);
    let usage = || report::message(&format!("{NAME}usage{NAME:#}: {}", printable(&signature)));
    let arguments = Arguments::read(&arguments, &schema).and_then(|given| given.typed(&schema));
    let arguments = arguments.inspect_err(|_| usage())?;
    let params = with_arguments(entry.name.as_str(), arguments);
    let mut answer = converse(&mut local, "tools/call", params.clone(), &answers).await;
    let mut missing = entry.provider.missing_grants();
    let worked = answer.as_ref().is_ok_and(|answer| answer.parsed["isError"] != true);
    if !missing.is_empty() && !worked && can_ask() && suspected::unanswerable(&missing).is_none() {
        match grant::offer(options, entry.provider.as_ref(), &path, &missing).await? {
            Some(true) => {
                local = Local::load(options, &path, screen).await?;
                expect_same(&local.tool(&tool)?, &entry, &local.program, &path)?;
                answer = converse(&mut local, "tools/call", params, &answers).await;
                missing = local.tool(&tool)?.provider.missing_grants();
            }
            Some(false) => missing.clear(),
            None => {}
        }
    }
    let is_own_failure = answer.as_ref().is_ok_and(|answer| is_own_failure(&answer.parsed));
    if let Ok(answer) = &answer {
        answer.print(json, |result| match is_own_failure {
            true => marked(entry.provider.id(), &text(result)),
            false => text(result),
        })?;
    }
    let is_in_result = answer.as_ref().is_ok_and(|answer| answer.parsed["_meta"]["wharf/fault"]["code"] == "denied");
    // The call may have taken its own tool off the list.
    let provider = local.tool(&tool).map_or_else(|_| entry.provider.clone(), |entry| entry.provider.clone());
    let unusable = provider.unusable_grants();
    let advice = grant::explain(options, entry.provider.id(), &path, (&missing, &unusable), is_in_result);
    let advice = advice.map(|advice| match suspected::unanswerable(&missing) {
        Some(instead) => format!("{advice}; then {instead}"),
        None => advice,
    });
    let answer = match (answer, &advice) {
        // The hint comes after what failed.
        (Err(failure), Some(advice)) => return Err(failure.hint(advice.clone())),
        (answer, _) => answer?,
    };
    hint(advice.as_deref());
    if answer.parsed["_meta"]["wharf/fault"]["code"] == "bad-input" {
        usage();
    }
    let failed = answer.parsed["isError"] == true;
    let destroys = entry.item().tool.annotations.as_ref().is_some_and(|hints| hints.destructive == Some(true));
    // What is known to have failed is another reason.
    if is_own_failure && advice.is_none() {
        let program = options.program();
        hint(suspected::reason(provider.as_ref(), &program, &path, answers.are_impossible()).as_deref());
        // Such a tool may find out that it cannot ask for a confirmation, which neither it nor the host learns the reason
        // of. One that asks all the same is denied, and its missing grant is known.
        if destroys && !local.may_ask(entry.provider.id()) {
            let advice = grant::advice(options, entry.provider.id(), &path, &["elicit".to_owned()]);
            hint(Some(&format!("if it has to ask you first: {advice}")));
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Fails if a tool is no longer that of the version that was called: what was granted was for that one.
fn expect_same(now: &Entry<FrozenTool>, called: &Entry<FrozenTool>, program: &str, path: &Path) -> Result<(), Failure> {
    let (now, called) = (&now.provider, &called.provider);
    if now.id() == called.id() && now.digest() == called.digest() {
        return Ok(());
    }
    let what = replaced(*now.digest());
    Err(Failure::new(format!("call {} again: since the question, {what}; what you granted it is written", called.id()))
        .hint(format!("look at what it is now: {program} list {}", shell_word(path))))
}

/// Whether the tool itself says that it failed, and not the host.
fn is_own_failure(result: &Value) -> bool {
    result["isError"] == true && result["_meta"]["wharf/fault"].is_null()
}

/// A plugin's own text, marked as what it prints: it could look like an error or a hint of the host.
fn marked(id: &PluginId, text: &str) -> String {
    text.lines().map(|line| format!("{DIM}{id} |{DIM:#} {line}\n")).collect()
}

/// The result as text for people.
fn text(result: &Value) -> String {
    let content = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let lines: Vec<String> = content.iter().map(block).collect();
    lines.join("\n")
}

/// A block of content as text for people.
pub(super) fn block(block: &Value) -> String {
    let field = |name: &str| block[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => shown(field("text")),
        "image" | "audio" => {
            let (kind, mime) = (field("type"), line(field("mimeType")));
            format!("[{kind} {mime}, {} bytes in base64]", field("data").len())
        }
        "resource_link" => line(field("uri")),
        "resource" => contents(&block["resource"]),
        _ => indented(&escape_hidden_in_json(&block.to_string())),
    }
}

/// The contents of a resource as text for people.
pub(super) fn contents(contents: &Value) -> String {
    match contents["text"].as_str() {
        Some(text) => shown(text),
        None => format!("[{}]", line(contents["uri"].as_str().unwrap_or_default())),
    }
}

/// On a terminal JSON is indented; scripts get it as it is.
fn shown(text: &str) -> String {
    let is_json = || text.trim_start().starts_with(['{', '[']) && json::check(text, json::MAX_DEPTH).is_ok();
    if io::stdout().is_terminal() && is_json() { indented(&escape_hidden_in_json(text)) } else { printable(text) }
}

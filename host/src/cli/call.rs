//! `wharf call`: one tool call from the shell.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value};
use wharf_report::ShowPath as _;

use super::ask;
use super::folder::is_component;
use super::local::Local;
use super::options::Options;
use crate::json;
use crate::plugin::text::{escape_hidden_in_json, printable};
use crate::report::{self, Failure};

/// Log filter: warnings, and what the plugin prints and logs. The result says how the call failed, so the
/// server need not.
pub(super) const LOG_FILTER: &str = "warn,guest=info,wharf::plugin=info,wharf::server::fault=off";

pub(super) async fn run(
    options: &Options,
    path: &Path,
    tool: &str,
    arguments: String,
    json: bool,
) -> Result<ExitCode, Failure> {
    let arguments = if arguments == "-" { read_stdin()? } else { arguments };
    let arguments = json::tree(&arguments, json::MAX_DEPTH).map_err(|error| {
        Failure::usage(format!("read the arguments: {error}: {arguments}"))
            .hint("the arguments are one JSON object, for example '{\"text\":\"hello\"}'".to_owned())
    })?;
    if !path.exists() {
        return Err(Failure::usage(format!("read the plugins: no such file or folder: {}", path.shown())));
    }
    let mut local = Local::load(options, path).await?;
    // For a single file, the name within the plugin is unambiguous.
    let own = if is_component(path) { local.public_name(tool) } else { None };
    let name = own.unwrap_or_else(|| tool.to_owned());
    let mut params = Map::from_iter([("name".to_owned(), Value::String(name)), ("arguments".to_owned(), arguments)]);
    let capabilities = ask::capabilities();
    let (result, parsed) = loop {
        let result = local.request("tools/call", params.clone(), capabilities.clone()).await?;
        let parsed = json::tree(result.get(), json::MAX_DEPTH);
        let mut parsed = parsed.map_err(|error| Failure::new(format!("read the result: {error}")))?;
        if parsed["resultType"] != "input_required" {
            break (result, parsed);
        }
        // No call is running now, so this thread may block on the terminal.
        params.insert("inputResponses".to_owned(), ask::answers(&parsed["inputRequests"])?);
        params.insert("requestState".to_owned(), parsed["requestState"].take());
    };
    // Plugin output must not control the terminal.
    report::print(&if json { escape_hidden_in_json(result.get()) } else { printable(&text(&parsed)) })?;
    Ok(if parsed["isError"] == true { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| Failure::usage(format!("read stdin: {error}")))?;
    Ok(text)
}

/// The result as text for people.
fn text(result: &Value) -> String {
    let content = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let lines: Vec<String> = content.iter().map(block).collect();
    lines.join("\n")
}

fn block(block: &Value) -> String {
    let field = |name: &str| block[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        "image" | "audio" => {
            format!("[{} {}, {} bytes in base64]", field("type"), field("mimeType"), field("data").len())
        }
        "resource_link" => field("uri").to_owned(),
        "resource" => match block["resource"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", block["resource"]["uri"].as_str().unwrap_or_default()),
        },
        _ => block.to_string(),
    }
}

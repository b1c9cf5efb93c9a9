//! `wharf list`: the tools that clients see.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use wharf_report::ShowPath as _;

use super::folder::plugin_folder;
use super::local::Local;
use super::options::Options;
use crate::plugin::text::{escape_hidden_in_json, printable};
use crate::report::{self, Failure, NAME};

pub(super) async fn run(options: &Options, dir: Option<PathBuf>, json: bool) -> Result<ExitCode, Failure> {
    let dir = plugin_folder(options, dir)?;
    let mut local = Local::load(options, &dir).await?;
    let mut tools = Vec::new();
    let mut params = Map::new();
    loop {
        let page = local.request("tools/list", params.clone(), serde_json::json!({})).await?;
        let page = crate::json::tree(page.get(), crate::json::MAX_DEPTH);
        let mut page = page.map_err(|error| Failure::new(format!("read the list: {error}")))?;
        if let Some(Value::Array(more)) = page.get_mut("tools").map(Value::take) {
            tools.extend(more);
        }
        match page.get("nextCursor") {
            Some(cursor) => params.insert("cursor".into(), cursor.clone()),
            None => break,
        };
    }
    if json {
        report::print(&escape_hidden_in_json(&json!({"tools": tools}).to_string()))?;
    } else if tools.is_empty() {
        report::message(&format!("no tools in {}", dir.shown()));
    } else {
        let text: Vec<String> = tools.iter().map(line).collect();
        report::print(&text.join("\n"))?;
    }
    Ok(if local.refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A name and the first sentence of its description.
fn line(tool: &Value) -> String {
    let name = tool["name"].as_str().unwrap_or_default();
    let description = tool["description"].as_str().unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    let first = printable(first.split_inclusive(". ").next().unwrap_or_default().trim_end());
    format!("{NAME}{name:<24}{NAME:#} {first}")
}

//! `wharf list`: what clients see.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use wharf_report::ShowPath as _;

use super::entry;
use super::folder::{is_file, plugin_folder};
use super::json_text::indented;
use super::local::Local;
use super::options::Options;
use crate::plugin::text::{escape_hidden_in_json, printable};
use crate::report::{self, Failure, NAME, Screen};

#[derive(Args)]
pub(super) struct ListOptions {
    /// Folder of .wasm files, or one file [default: as for serve]
    path: Option<PathBuf>,
    /// Show how this tool is called
    name: Option<String>,
    /// Print the list as MCP JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: ListOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let ListOptions { path, name, json } = how;
    let path = match path {
        Some(file) if is_file(&file) => file,
        path => plugin_folder(path)?,
    };
    let mut local = Local::load(options, &path, screen).await?;
    if let Some(name) = name {
        return one(&mut local, &name, json).await;
    }
    local.report();
    let tools = all(&mut local, "tools/list", "tools").await?;
    if json {
        report::print(&indented(&escape_hidden_in_json(&json!({"tools": tools}).to_string())))?;
    } else if tools.is_empty() {
        report::message(&format!("no tools in {}", path.shown()));
    } else {
        let text: Vec<String> = tools.iter().map(line).collect();
        report::print(&text.join("\n"))?;
    }
    Ok(if local.refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One tool in detail.
async fn one(local: &mut Local, name: &str, json: bool) -> Result<ExitCode, Failure> {
    let name = local.tool(name)?.name.to_string();
    let tools = all(local, "tools/list", "tools").await?;
    let Some(tool) = tools.into_iter().find(|tool| tool["name"] == name.as_str()) else {
        return Err(Failure::new(format!("find the tool {name} in the list")));
    };
    let text = if json { indented(&escape_hidden_in_json(&tool.to_string())) } else { entry::tool(&tool) };
    report::print(&text).map(|()| ExitCode::SUCCESS)
}

/// All pages of a list.
async fn all(local: &mut Local, method: &str, member: &str) -> Result<Vec<Value>, Failure> {
    let (mut entries, mut params) = (Vec::new(), Map::new());
    loop {
        let page = local.request(method, params.clone(), json!({})).await?;
        let page = crate::json::tree(page.get(), crate::json::MAX_DEPTH);
        let mut page = page.map_err(|error| Failure::new(format!("read the list: {error}")))?;
        if let Some(Value::Array(more)) = page.get_mut(member).map(Value::take) {
            entries.extend(more);
        }
        match page.get("nextCursor") {
            Some(cursor) => params.insert("cursor".into(), cursor.clone()),
            None => return Ok(entries),
        };
    }
}

/// A name and the first sentence of its description.
fn line(tool: &Value) -> String {
    let name = tool["name"].as_str().unwrap_or_default();
    let description = tool["description"].as_str().unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    let first = printable(first.split_inclusive(". ").next().unwrap_or_default().trim_end());
    format!("{NAME}{name:<24}{NAME:#} {first}")
}

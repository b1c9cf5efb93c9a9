//! `wharf list`: what clients see.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};
use wharf_report::ShowPath as _;

use super::folder::{is_file, plugin_folder};
use super::json_text::indented;
use super::local::Local;
use super::options::Options;
use super::{entry, wrapped};
use crate::plugin::text::{escape_hidden_in_json, printable};
use crate::report::{self, Failure, NAME, Screen};

#[derive(Args)]
pub(super) struct ListOptions {
    /// Folder of .wasm files, or one file [default: as for serve]
    path: Option<PathBuf>,
    /// Show how this tool, prompt or resource is used
    name: Option<String>,
    /// Print the list as MCP JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: ListOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let ListOptions { path, name, json } = how;
    let path = match path {
        Some(file) if is_file(&file) => file,
        path => plugin_folder(options, path)?,
    };
    let mut local = Local::load(options, &path, screen).await?;
    if let Some(name) = name {
        return one(&mut local, &name, json).await;
    }
    local.report();
    let mut sections = Map::new();
    for Section { method, member, .. } in &SECTIONS {
        sections.insert((*member).to_owned(), all(&mut local, method, member).await?.into());
    }
    if json {
        report::print(&indented(&escape_hidden_in_json(&Value::Object(sections).to_string())))?;
    } else {
        let text: Vec<String> = SECTIONS.iter().filter_map(|section| section.text(&sections)).collect();
        match text.is_empty() {
            true => report::message(&format!("no tools, resources or prompts in {}", path.shown())),
            false => report::print(&wrapped::for_stdout(&text.join("\n\n")))?,
        }
    }
    Ok(if local.refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One list of the server.
struct Section {
    method: &'static str,
    member: &'static str,
    /// None above the tools, which nearly every plugin has.
    heading: &'static str,
    /// The member of an entry by which it is asked for.
    key: &'static str,
    /// One entry in detail.
    shown: fn(&Value) -> String,
}

const SECTIONS: [Section; 4] = [
    Section { method: "tools/list", member: "tools", heading: "", key: "name", shown: entry::tool },
    Section {
        method: "resources/list",
        member: "resources",
        heading: "Resources",
        key: "uri",
        shown: |resource| entry::resource(resource, "uri"),
    },
    Section {
        method: "resources/templates/list",
        member: "resourceTemplates",
        heading: "Resource templates",
        key: "uriTemplate",
        shown: |template| entry::resource(template, "uriTemplate"),
    },
    Section { method: "prompts/list", member: "prompts", heading: "Prompts", key: "name", shown: entry::prompt },
];

impl Section {
    /// A line for each entry.
    fn text(&self, sections: &Map<String, Value>) -> Option<String> {
        let entries = sections.get(self.member)?.as_array().filter(|entries| !entries.is_empty())?;
        let lines = entries.iter().map(|entry| line(entry, self.key));
        let heading = (!self.heading.is_empty()).then(|| format!("{NAME}{}{NAME:#}", self.heading));
        Some(heading.into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
    }
}

/// One entry in detail.
async fn one(local: &mut Local, name: &str, json: bool) -> Result<ExitCode, Failure> {
    let name = local.public_name(name)?;
    for Section { method, member, key, shown, .. } in &SECTIONS {
        let entries = all(local, method, member).await?;
        if let Some(entry) = entries.into_iter().find(|entry| entry[*key] == name.as_str()) {
            let text = if json {
                indented(&escape_hidden_in_json(&entry.to_string()))
            } else {
                wrapped::for_stdout(&shown(&entry))
            };
            return report::print(&text).map(|()| ExitCode::SUCCESS);
        }
    }
    Err(Failure::new(format!("find {name} in the lists")))
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

/// A name or URI and the first sentence of its description.
fn line(entry: &Value, key: &str) -> String {
    let name = entry[key].as_str().unwrap_or_default();
    let about = ["description", "title", "name"].iter().filter(|about| **about != key);
    let description = about.filter_map(|about| entry[*about].as_str()).next().unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    let first = printable(first.split_inclusive(". ").next().unwrap_or_default().trim_end());
    format!("{NAME}{name:<24}{NAME:#} {first}")
}

//! `wharf list`: what clients see.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};
use wharf_report::{DIM, ShowPath as _, column};

use super::folder::{is_file, plugin_folder};
use super::json_text::indented;
use super::local::Local;
use super::options::Options;
use super::{entry, wrapped};
use crate::catalog::Snapshot;
use crate::plugin::Provider;
use crate::report::{self, Failure, NAME, Screen};
use crate::text::{escape_hidden_in_json, printable};

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
        let text = by_plugin(&local.snapshot(), &sections);
        match text.is_empty() {
            true => report::message(&format!("no tools, resources or prompts in {}", path.shown())),
            false => report::print(&wrapped::for_stdout(&text.join("\n\n")))?,
        }
    }
    Ok(if local.serves_all() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One list of the server.
struct Section {
    method: &'static str,
    member: &'static str,
    /// None above the tools, which nearly every plugin has.
    heading: Option<&'static str>,
    /// One of them, and several.
    kind: (&'static str, &'static str),
    /// The member of an entry by which it is asked for.
    key: &'static str,
    /// Which plugin has the entry with that key.
    owner: for<'s> fn(&'s Snapshot, &str) -> Option<&'s Arc<dyn Provider>>,
    /// One entry in detail.
    shown: fn(&Value) -> String,
}

const SECTIONS: [Section; 4] = [
    Section {
        method: "tools/list",
        member: "tools",
        heading: None,
        kind: ("tool", "tools"),
        key: "name",
        owner: |snapshot, name| Some(&snapshot.tools.get(name)?.provider),
        shown: entry::tool,
    },
    Section {
        method: "resources/list",
        member: "resources",
        heading: Some("Resources"),
        kind: ("resource", "resources"),
        key: "uri",
        owner: |snapshot, uri| Some(&snapshot.resources.get(uri)?.provider),
        shown: |resource| entry::resource(resource, "uri"),
    },
    Section {
        method: "resources/templates/list",
        member: "resourceTemplates",
        heading: Some("Resource templates"),
        kind: ("resource template", "resource templates"),
        key: "uriTemplate",
        owner: |snapshot, uri| Some(&snapshot.templates.get(uri)?.provider),
        shown: |template| entry::resource(template, "uriTemplate"),
    },
    Section {
        method: "prompts/list",
        member: "prompts",
        heading: Some("Prompts"),
        kind: ("prompt", "prompts"),
        key: "name",
        owner: |snapshot, name| Some(&snapshot.prompts.get(name)?.provider),
        shown: entry::prompt,
    },
];

/// What each plugin offers, below its name: a line for each entry.
fn by_plugin(snapshot: &Snapshot, sections: &Map<String, Value>) -> Vec<String> {
    let entries = SECTIONS.iter().flat_map(|section| Some((section.key, sections.get(section.member)?.as_array()?)));
    let width = column(entries.flat_map(|(key, entries)| entries.iter().filter_map(move |entry| entry[key].as_str())));
    let offers = snapshot.members().iter().map(|member| offer(snapshot, &*member.provider, sections, width));
    offers.flatten().collect()
}

fn offer(snapshot: &Snapshot, plugin: &dyn Provider, sections: &Map<String, Value>, width: usize) -> Option<String> {
    let (mut counts, mut lines) = (Vec::new(), Vec::new());
    for Section { member, heading, kind, key, owner, .. } in &SECTIONS {
        let is_own = |entry: &&Value| {
            let owner = owner(snapshot, entry[*key].as_str().unwrap_or_default());
            owner.is_some_and(|owner| owner.id() == plugin.id())
        };
        let all = sections.get(*member).and_then(Value::as_array).into_iter().flatten();
        let own: Vec<String> = all.filter(is_own).map(|entry| line(entry, key, width)).collect();
        let indent = if heading.is_some() { "    " } else { "  " };
        if own.is_empty() {
            continue;
        }
        counts.push(format!("{} {}", own.len(), if own.len() == 1 { kind.0 } else { kind.1 }));
        lines.extend(heading.map(|heading| format!("  {DIM}{heading}{DIM:#}")));
        lines.extend(own.iter().map(|line| format!("{indent}{line}")));
    }
    if lines.is_empty() {
        return None;
    }
    let version = if plugin.is_host() && !plugin.id().is_skill() {
        "built in".to_owned()
    } else {
        format!("blake3:{}…", plugin.digest().short())
    };
    let heading = format!("{NAME}{}{NAME:#} {DIM}{version}, {}{DIM:#}", plugin.id(), counts.join(", "));
    Some(format!("{heading}\n{}", lines.join("\n")))
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
                let snapshot = local.snapshot();
                let tool = snapshot.tools.get(&name).filter(|_| *member == "tools");
                let tasks = tool.map_or("", |tool| entry::task_support(tool.item().tool.task_support));
                wrapped::for_stdout(&(shown(&entry) + tasks))
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

/// A name or URI, in a column of that width, and the first sentence of its description.
fn line(entry: &Value, key: &str, width: usize) -> String {
    let name = entry[key].as_str().unwrap_or_default();
    let about = ["description", "title", "name"].iter().filter(|about| **about != key);
    let description = about.filter_map(|about| entry[*about].as_str()).next().unwrap_or_default();
    let first = description.lines().next().unwrap_or_default();
    let first = printable(first.split_inclusive(". ").next().unwrap_or_default().trim_end());
    format!("{NAME}{name:<width$}{NAME:#}  {first}")
}

//! Where a server keeps its tasks, and `wharf tasks`: what they are, and to cancel one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wharf_report::{DIM, ShowPath as _, line};

use super::folder::served_folder;
use super::json_text::indented;
use super::options::Options;
use super::{audit, wrapped};
use crate::audit::{Event, Record as AuditRecord};
use crate::config::{self, Config};
use crate::os::paths::absolute;
use crate::plugin::text::{escape_hidden_in_json, printable};
use crate::report::{self, Failure, NAME};
use crate::server::TaskSettings;
use crate::store::{Durability, Sqlite, StoreError};
use crate::tasks::{Asked, Ledger, Outcome, Record, Status};

/// Of the state folder; the tasks of all plugin folders are in it.
const FILE: &str = "tasks.db";
/// Records that are read at a time.
const PAGE: usize = 100;

/// The tasks of a server of that plugin folder. `lists`: clients can be told apart.
pub(super) fn settings(config: &Config, dir: &Path, lists: bool) -> TaskSettings {
    let path = config.server.tasks.then(path).flatten();
    let is_used = path.as_ref().is_some_and(|path| path.exists());
    TaskSettings { ledger: path.map(|path| ledger(path, dir)), lists, is_used, ..TaskSettings::default() }
}

fn path() -> Option<PathBuf> {
    config::base().map(|base| base.state.join(FILE))
}

fn ledger(path: PathBuf, dir: &Path) -> Ledger {
    let dir = dir.canonicalize().unwrap_or_else(|_| absolute(dir));
    Ledger::new(Sqlite::new(path), &dir.to_string_lossy())
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct TaskOptions {
    #[command(subcommand)]
    command: Option<TaskCommand>,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TaskCommand {
    /// Show one: its call, its questions, how it ended
    Show {
        id: String,
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Cancel one that has not ended
    Cancel {
        id: String,
        /// Folder of .wasm files [default: as for serve]
        dir: Option<PathBuf>,
    },
}

pub(super) async fn run(options: &Options, how: TaskOptions) -> Result<ExitCode, Failure> {
    let place = path().ok_or_else(|| Failure::usage("find the tasks: no home folder"))?;
    let dir = match &how.command {
        None => how.dir,
        Some(TaskCommand::Show { dir, .. } | TaskCommand::Cancel { dir, .. }) => dir.clone(),
    };
    let dir = served_folder(options, dir)?;
    // Looking makes no file.
    let ledger = place.exists().then(|| ledger(place.clone(), &dir));
    let found = |id: &str| {
        let hint = format!("{} tasks {} shows all; they expire", options.program(), dir.shown());
        Failure::usage(format!("find a task of that id: {}", line(&printable(id)))).hint(hint)
    };
    match how.command {
        None => list(ledger.as_ref(), &dir, how.json).await?,
        Some(TaskCommand::Show { id, json, .. }) => {
            let task = find(ledger.as_ref(), &id).await?.ok_or_else(|| found(&id))?.1;
            let text =
                if json { indented(&escape_hidden_in_json(&to_json(&task).to_string())) } else { in_detail(&task) };
            report::print(&wrapped::for_stdout(&text))?;
        }
        Some(TaskCommand::Cancel { id, .. }) => {
            let config = options.config()?;
            // What cannot be recorded is not done.
            let log = audit::open(&config)?;
            let (key, task) = find(ledger.as_ref(), &id).await?.ok_or_else(|| found(&id))?;
            let cancel = |record: &mut Record| {
                let why = Some("cancelled by the operator".to_owned());
                record.end(Status::Cancelled, why, None).then_some(())
            };
            let Some(ledger) = &ledger else { return Err(found(&id)) };
            let cancelled = ledger.change(&key, Durability::Power, cancel).await.map_err(|error| failed(&error))?;
            let Some((task, ())) = cancelled else {
                let status = task.status.name();
                return Err(Failure::usage(format!("cancel a task that has ended: it is {status}: {}", task.id)));
            };
            report::print(&wrapped::for_stdout(&shown(&task)))?;
            let record = AuditRecord {
                plugin: Some(task.plugin.clone()),
                principal: Some(task.requester.name().into()),
                tool: Some(AuditRecord::capped(&task.tool)),
                task: Some(AuditRecord::capped(&task.id)),
                by: Some("operator"),
                code: Some("cancelled"),
                ..AuditRecord::new(Event::Decide)
            };
            audit::recorded(log, &config, &record, &id)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(ledger: Option<&Ledger>, dir: &Path, as_json: bool) -> Result<(), Failure> {
    let mut all = Vec::new();
    each(ledger, |_, task| {
        all.push(task);
        true
    })
    .await?;
    all.sort_by_key(|task| task.created);
    if as_json {
        let all: Vec<Value> = all.iter().map(to_json).collect();
        return report::print(&indented(&escape_hidden_in_json(&json!(all).to_string())));
    }
    if all.is_empty() {
        report::message(&format!("no tasks: {}", dir.shown()));
        return Ok(());
    }
    let texts: Vec<String> = all.iter().map(shown).collect();
    report::print(&wrapped::for_stdout(&texts.join("\n")))
}

async fn find(ledger: Option<&Ledger>, id: &str) -> Result<Option<(String, Record)>, Failure> {
    let mut found = None;
    each(ledger, |key, task| {
        if task.id == id {
            found = Some((key, task));
        }
        found.is_none()
    })
    .await?;
    Ok(found)
}

/// Reads all tasks, until `take` returns `false`.
async fn each(ledger: Option<&Ledger>, mut take: impl FnMut(String, Record) -> bool) -> Result<(), Failure> {
    let Some(ledger) = ledger else { return Ok(()) };
    let mut after = String::new();
    loop {
        let page = ledger.list(None, &after, PAGE).await.map_err(|error| failed(&error))?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after.clone_from(last);
        for (key, task) in page {
            if !take(key, task) {
                return Ok(());
            }
        }
    }
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(format!("use the tasks: {error}"))
}

fn shown(task: &Record) -> String {
    let date = |millis: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(millis)).to_string();
    let text = |text: &str| line(&printable(text));
    let left = task.expires().saturating_sub(crate::tasks::now()) / 1000;
    let mut rows = vec![
        ("tool", format!("{}, of {}", text(&task.tool), task.plugin)),
        ("user", text(task.requester.name())),
        ("made", date(task.created)),
        ("changed", date(task.updated)),
        ("expires", format!("in {}", humantime::format_duration(Duration::from_secs(left)))),
    ];
    rows.extend(task.message.as_ref().map(|message| ("message", text(message))));
    let rows: String = rows.iter().map(|(name, value)| format!("  {name:<9}  {value}\n")).collect();
    format!("{NAME}{}{NAME:#} {DIM}{}{DIM:#}\n{rows}", task.id, task.status.name())
}

fn in_detail(task: &Record) -> String {
    let text = |text: &str| line(&printable(text));
    let mut all = shown(task);
    let mut row = |name: &str, value: &str| all.push_str(&format!("  {name:<9}  {}\n", text(value)));
    row("arguments", task.arguments.get());
    for asked in task.asked.iter().filter(|asked| asked.is_open()) {
        row("asks", asked.params.as_ref().map_or(asked.method.as_str(), |params| params.get()));
    }
    match &task.outcome {
        Some(Outcome::Result(result)) => row("result", result.get()),
        Some(Outcome::Error(error)) => row("error", error.get()),
        None => {}
    }
    all
}

fn to_json(task: &Record) -> Value {
    let raw = |text: &str| crate::json::tree(text, crate::json::MAX_DEPTH).unwrap_or(Value::Null);
    let asks: Vec<&Asked> = task.asked.iter().filter(|asked| asked.is_open()).collect();
    let asks: Vec<Value> = asks
        .iter()
        .map(|asked| json!({ "method": asked.method, "params": asked.params.as_ref().map(|params| raw(params.get())) }))
        .collect();
    let (result, error) = match &task.outcome {
        Some(Outcome::Result(result)) => (Some(raw(result.get())), None),
        Some(Outcome::Error(error)) => (None, Some(raw(error.get()))),
        None => (None, None),
    };
    json!({
        "id": task.id,
        "status": task.status.name(),
        "message": task.message,
        "plugin": task.plugin,
        "tool": task.tool,
        "user": task.requester.name(),
        "arguments": raw(task.arguments.get()),
        "made": task.created,
        "changed": task.updated,
        "expires": task.expires(),
        "asks": asks,
        "result": result,
        "error": error,
    })
}

//! Where a server keeps its tasks, and `wharf tasks`: what they are, and to cancel one.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wharf_report::{DIM, ShowPath as _, line};

use super::finding::Finding;
use super::folder::served_folder;
use super::json_text::indented;
use super::options::Options;
use super::shared::{place, whole_place};
use super::{audit, wrapped};
use crate::audit::{Event, Record as AuditRecord};
use crate::config::Config;
use crate::json;
use crate::os::paths::absolute;
use crate::report::{self, Failure, NAME};
use crate::server::TaskSettings;
use crate::store::{Durability, Place, Store, StoreError, lease};
use crate::tasks::{Ledger, Outcome, Record, Status};
use crate::text::{escape_hidden_in_json, printable};

/// Records that are read at a time.
const PAGE: usize = 100;
/// The state of a task whose process has ended, while no other has found it.
const INTERRUPTED: &str = "interrupted";

/// The tasks of a server of that plugin folder, in that store. `lists`: clients can be told apart.
pub(super) fn settings(store: Option<(&Place, &Arc<dyn Store>)>, dir: &Path, lists: bool) -> TaskSettings {
    let is_used = store.is_some_and(|(place, _)| place.may_have_entries());
    let ledger = store.map(|(_, store)| of_folder(store.clone(), dir));
    TaskSettings { ledger, lists, is_used, ..TaskSettings::default() }
}

fn ledger(place: &Place, dir: &Path) -> Ledger {
    of_folder(place.open(), dir)
}

fn of_folder(store: Arc<dyn Store>, dir: &Path) -> Ledger {
    let dir = dir.canonicalize().unwrap_or_else(|_| absolute(dir));
    Ledger::new(store, &dir.to_string_lossy())
}

/// The number of tasks that are kept for a plugin folder.
pub(super) async fn kept(config: &Config, dir: &Path) -> Result<u64, Failure> {
    match place(config)?.filter(Place::may_have_entries) {
        Some(place) => {
            let usage = ledger(&place, dir).usage(None).await;
            usage.map(|usage| usage.entries).map_err(|error| Failure::new(format!("count the tasks: {error}")))
        }
        None => Ok(0),
    }
}

/// Whether the store that the configuration names answers.
pub(super) async fn finding(config: &Config) -> Option<Finding> {
    let about = if config.store.is_shared() { "shared store" } else { "tasks" };
    config.store.url.as_ref().filter(|_| config.server.tasks || config.store.is_shared())?;
    let place = match place(config) {
        Ok(place) => place?,
        Err(failure) => return Some(Finding::bad(about, failure)),
    };
    if !place.may_have_entries() {
        return Some(Finding::good(about, format!("{place}, which is made when it is first needed")));
    }
    Some(match place.open().get("").await {
        Ok(_) => Finding::good(about, format!("{place} answers")),
        Err(error) => Finding::bad(about, failed(&error)),
    })
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct TaskOptions {
    #[command(subcommand)]
    command: Option<TaskCommand>,
    /// Folder of .wasm files [default: as for serve]
    dir: Option<PathBuf>,
    /// Only those that have not ended
    #[arg(long)]
    open: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum TaskCommand {
    /// Show one: its call, its questions, how it ended
    Show {
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Cancel one that has not ended
    Cancel { id: String },
}

pub(super) async fn run(options: &Options, how: TaskOptions) -> Result<ExitCode, Failure> {
    let place = whole_place(&options.config()?)?.ok_or_else(|| Failure::usage("find the tasks: no home folder"))?;
    match how.command {
        None => {
            let dir = served_folder(options, how.dir)?;
            // Looking makes no file.
            let ledger = place.may_have_entries().then(|| ledger(&place, &dir));
            list(ledger.as_ref(), &dir, how.open, how.json).await?;
        }
        Some(TaskCommand::Show { id, json }) => {
            let (ledger, _, task) = find(options, &place, &id).await?;
            let mut processes = Processes::default();
            processes.look_at(&ledger, slice::from_ref(&task)).await?;
            let state = processes.state(&task);
            let text = match json {
                true => indented(&escape_hidden_in_json(&to_json(&task, state).to_string())),
                false => wrapped::for_stdout(&in_detail(&task, state)),
            };
            report::print(&text)?;
        }
        Some(TaskCommand::Cancel { id }) => cancel(options, &place, &id).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(options: &Options, place: &Place, id: &str) -> Result<(), Failure> {
    let config = options.config()?;
    // What cannot be recorded is not done.
    let log = audit::open(&config)?;
    let (ledger, key, task) = find(options, place, id).await?;
    let cancel = |record: &mut Record| {
        record.end(Status::Cancelled, Some("cancelled by the operator".to_owned()), None).then_some(())
    };
    let cancelled = ledger.change(&key, Durability::Power, cancel).await.map_err(|error| failed(&error))?;
    let Some((task, ())) = cancelled else {
        return Err(Failure::new(format!("cancel a task that has ended: it is {}: {id}", task.status.name())));
    };
    report::print(&wrapped::for_stdout(&shown(&task, task.status.name())))?;
    let record = AuditRecord {
        plugin: Some(task.plugin.clone()),
        principal: Some(task.requester.name().into()),
        tool: Some(AuditRecord::capped(&task.tool)),
        task: Some(AuditRecord::capped(&task.id)),
        by: Some("operator"),
        code: Some("cancelled"),
        ..AuditRecord::new(Event::Task)
    };
    audit::recorded(log, &config, &record, id)
}

async fn list(ledger: Option<&Ledger>, dir: &Path, open: bool, as_json: bool) -> Result<(), Failure> {
    let (mut all, mut processes) = (Vec::new(), Processes::default());
    let mut after = Some(String::new());
    while let (Some(ledger), Some(from)) = (ledger, after.take()) {
        let page = ledger.list(None, &from, PAGE).await.map_err(|error| failed(&error))?;
        after = page.next;
        let tasks = page.tasks.into_iter().map(|(_, task)| task).filter(|task| !(open && task.status.is_final()));
        let tasks: Vec<Record> = tasks.collect();
        processes.look_at(ledger, &tasks).await?;
        for task in tasks {
            let state = processes.state(&task);
            // Results may be megabytes each.
            all.push((task.created, if as_json { to_json(&task, state) } else { json!(row(&task, state)) }));
        }
    }
    all.sort_by_key(|(created, _)| *created);
    if as_json {
        let all: Vec<Value> = all.into_iter().map(|(_, task)| task).collect();
        return report::print(&indented(&escape_hidden_in_json(&json!(all).to_string())));
    }
    if all.is_empty() {
        report::message(&format!("no tasks: {}", dir.shown()));
        return Ok(());
    }
    let rows: Vec<&str> = all.iter().filter_map(|(_, row)| row.as_str()).collect();
    report::print(&rows.concat())
}

async fn find(options: &Options, place: &Place, id: &str) -> Result<(Ledger, String, Record), Failure> {
    let found = match place.may_have_entries() {
        true => Ledger::find(&place.open(), id).await.map_err(|error| failed(&error))?,
        false => None,
    };
    found.ok_or_else(|| {
        let hint = format!("{} tasks DIR shows those of a plugin folder; they expire", options.program());
        Failure::usage(format!("find a task of that id in {place}: {}", line(&printable(id)))).hint(hint)
    })
}

/// Whether the processes of tasks live, as far as it was looked for.
#[derive(Default)]
struct Processes(HashMap<String, bool>);

impl Processes {
    /// All at once, since it may take a while to see that they do not.
    async fn look_at(&mut self, ledger: &Ledger, tasks: &[Record]) -> Result<(), Failure> {
        let unknown: BTreeSet<String> =
            tasks.iter().filter_map(process_of).filter(|node| !self.0.contains_key(*node)).map(str::to_owned).collect();
        let living = ledger.living(&unknown, lease::WATCHED).await.map_err(|error| failed(&error))?;
        for node in unknown {
            let lives = living.contains(&node);
            self.0.insert(node, lives);
        }
        Ok(())
    }

    /// Where a task stands, for people: a client is told the same with other words.
    fn state(&self, task: &Record) -> &'static str {
        match process_of(task).map(|node| self.0.get(node)) {
            Some(Some(false)) => INTERRUPTED,
            _ if task.is_error => "completed, with an error",
            _ => task.status.name(),
        }
    }
}

/// The process that runs a task.
fn process_of(task: &Record) -> Option<&str> {
    task.node.as_deref().filter(|_| task.status == Status::Working)
}

fn failed(error: &StoreError) -> Failure {
    Failure::new(format!("use the tasks: {error}"))
}

fn date(millis: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}

/// One line.
fn row(task: &Record, state: &str) -> String {
    let [tool, user] = [&*task.tool, task.requester.name()].map(|text| line(&printable(text)));
    let message = task.message.as_ref().map(|text| format!(": {}", line(&printable(text)))).unwrap_or_default();
    format!("{NAME}{}{NAME:#}  {}  {tool}  {user}  {DIM}{state}{DIM:#}{message}\n", task.id, date(task.created))
}

fn shown(task: &Record, state: &str) -> String {
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
    rows.extend((state == INTERRUPTED).then(|| ("note", "the next server of its plugin folder ends it".to_owned())));
    let rows: String = rows.iter().map(|(name, value)| format!("  {name:<9}  {value}\n")).collect();
    format!("{NAME}{}{NAME:#} {DIM}{state}{DIM:#}\n{rows}", task.id)
}

fn in_detail(task: &Record, state: &str) -> String {
    let text = |text: &str| line(&printable(text));
    let mut all = shown(task, state);
    let mut row = |name: &str, value: &str| all.push_str(&format!("  {name:<9}  {}\n", text(value)));
    row("arguments", task.arguments.get());
    for asked in task.asked.iter().filter(|asked| asked.is_open()) {
        let params = asked.params.as_ref().map_or(asked.method.as_str(), |params| params.get());
        row("asks", &format!("{}: {params}", asked.key));
    }
    match &task.outcome {
        Some(Outcome::Result(result)) => row("result", result.get()),
        Some(Outcome::Error(error)) => row("error", error.get()),
        None => {}
    }
    all
}

fn to_json(task: &Record, state: &str) -> Value {
    let raw = |text: &str| json::tree(text, json::MAX_DEPTH).unwrap_or(Value::Null);
    let asks = task.asked.iter().filter(|asked| asked.is_open()).map(|asked| {
        let params = asked.params.as_ref().map(|params| raw(params.get()));
        json!({ "key": asked.key, "method": asked.method, "params": params })
    });
    let (result, error) = match &task.outcome {
        Some(Outcome::Result(result)) => (Some(raw(result.get())), None),
        Some(Outcome::Error(error)) => (None, Some(raw(error.get()))),
        None => (None, None),
    };
    json!({
        "id": task.id,
        "status": task.status.name(),
        "interrupted": state == INTERRUPTED,
        "isError": task.is_error,
        "message": task.message,
        "plugin": task.plugin,
        "tool": task.tool,
        "user": task.requester.name(),
        "arguments": raw(task.arguments.get()),
        "made": date(task.created),
        "changed": date(task.updated),
        "expires": date(task.expires()),
        "asks": asks.collect::<Vec<_>>(),
        "result": result,
        "error": error,
    })
}

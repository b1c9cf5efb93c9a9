//! `wharf shadow`: calls that a server records, run again with another version as they come.
//!
//! The other version has only the recorded answers, so that it changes nothing, whatever it does.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};
use wharf_report::{ShowPath as _, warning};

use super::options::Options;
use super::recordings::{Components, compared, differences, read, summary, to_json};
use super::target;
use crate::config::Config;
use crate::os::signals::Signals;
use crate::plugin::{PluginId, Spending, recording_of};
use crate::report::{self, Failure, Screen};
use crate::text::escape_hidden_in_json;

/// How often the folder is looked at.
const PAUSE: Duration = Duration::from_millis(250);
/// Calls that `--json` has in full.
const MAX_SHOWN: usize = 100;

#[derive(Args)]
pub(super) struct ShadowOptions {
    /// The plugin whose recorded calls are run again
    name: String,
    /// The version to run them with
    #[arg(value_name = "WASM")]
    with: PathBuf,
    /// End after so many calls
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    calls: u64,
    /// End after this time, such as 10m [default: after that many calls, or when it is stopped]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: ShadowOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let plugin = target::plugin(&how.name)?;
    let folder = recorded_in(&options.config()?, &plugin)?;
    let mut signals = Signals::listen().map_err(|error| Failure::new(format!("listen for signals: {error}")))?;
    let mut components = Components::new(options, Some(how.with.clone()), None, None).await?;
    let mut feed = Feed::begin(folder, plugin)?;
    let mut seen = Seen::default();
    report::message(&format!("waiting for calls of {} in {}", feed.plugin, feed.folder.shown()));
    let until = how.within.and_then(|time| Instant::now().checked_add(time));
    let over = async {
        match until {
            Some(until) => sleep_until(until).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(over);
    while seen.calls < how.calls {
        let step = async {
            let Some(file) = feed.next()? else {
                sleep(PAUSE).await;
                return Ok(());
            };
            seen.replay(&mut components, &file, how.json, screen).await
        };
        tokio::select! {
            stepped = step => stepped?,
            _ = signals.next() => break,
            () = &mut over => break,
        }
    }
    report::print(&if how.json { seen.to_json(&feed.plugin) } else { seen.to_text(&feed.plugin, &how.with) })?;
    // Without a call, nothing is known of that version.
    Ok(if seen.calls > 0 && seen.same == seen.calls { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a server records calls of that plugin.
fn recorded_in(config: &Config, plugin: &PluginId) -> Result<PathBuf, Failure> {
    let Some(recording) = config.recording() else {
        return Err(Failure::usage("follow recorded calls: the configuration has no record.folder").hint(
            "let the server record its calls: add [record] with folder = \"recordings\", and start it again".to_owned(),
        ));
    };
    let plugins = recording.settings.plugins.as_ref();
    if plugins.is_some_and(|plugins| !plugins.contains(plugin.as_ref())) {
        return Err(Failure::usage(format!("follow recorded calls: record.plugins does not name {plugin}"))
            .hint(format!("add \"{plugin}\" to record.plugins, and start the server again")));
    }
    Ok(recording.folder)
}

/// The recordings that come into a folder.
struct Feed {
    folder: PathBuf,
    plugin: PluginId,
    /// Names that are in the folder and were there before: no more than are kept in it.
    known: BTreeSet<String>,
    waiting: VecDeque<String>,
}

impl Feed {
    /// Those from now on.
    fn begin(folder: PathBuf, plugin: PluginId) -> Result<Self, Failure> {
        let mut feed = Self { folder, plugin, known: BTreeSet::new(), waiting: VecDeque::new() };
        feed.known = feed.names()?;
        Ok(feed)
    }

    fn next(&mut self) -> Result<Option<PathBuf>, Failure> {
        if self.waiting.is_empty() {
            let names = self.names()?;
            self.waiting.extend(names.difference(&self.known).cloned());
            self.known = names;
        }
        Ok(self.waiting.pop_front().map(|name| self.folder.join(name)))
    }

    fn names(&self) -> Result<BTreeSet<String>, Failure> {
        let failed = |error: std::io::Error| {
            Failure::usage(format!("read the folder of recordings: {error}: {}", self.folder.shown()))
                .hint("start the server first, which makes it".to_owned())
        };
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            names.extend(
                name.to_str().filter(|name| recording_of(name) == Some(self.plugin.as_ref())).map(str::to_owned),
            );
        }
        Ok(names)
    }
}

/// What became of the calls until now.
#[derive(Default)]
struct Seen {
    calls: u64,
    same: u64,
    /// Calls that were cut off when the time was up.
    unfinished: u64,
    /// Recordings that could not be read: most are gone, since more came than are kept.
    missed: u64,
    was: Spending,
    now: Spending,
    /// Those that differ.
    shown: Vec<Value>,
}

impl Seen {
    async fn replay(
        &mut self,
        components: &mut Components,
        file: &Path,
        json: bool,
        screen: &Screen,
    ) -> Result<(), Failure> {
        if fs::symlink_metadata(file).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            self.missed += 1;
            return Ok(());
        }
        let calls = match read(file) {
            Ok(calls) => calls,
            Err(failure) => {
                self.missed += 1;
                warning(&failure.into_parts().0);
                return Ok(());
            }
        };
        for recorded in calls {
            let replaying = components.replay(&recorded);
            // Counted before: it may be cut off.
            self.calls += 1;
            self.unfinished += 1;
            let replayed = screen.timed(&format!("replaying {}", recorded.input.plugin), replaying).await?;
            self.unfinished -= 1;
            if let Some(now) = &replayed.now {
                self.was.add(&recorded.cost);
                self.now.add(&now.cost);
            }
            if replayed.is_same() {
                self.same += 1;
            } else if json {
                if self.shown.len() < MAX_SHOWN {
                    self.shown.push(to_json(&recorded, &replayed));
                }
            } else {
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let first = format!("{} in {}", summary(&recorded, &replayed), wharf_report::line(&name));
                report::print(&std::iter::once(first).chain(differences(&replayed)).collect::<Vec<_>>().join("\n"))?;
            }
        }
        Ok(())
    }

    fn to_text(&self, plugin: &PluginId, with: &Path) -> String {
        let Self { calls, same, unfinished, missed, was, now, .. } = self;
        let mut text = format!("{same} of {calls} calls of {plugin} are the same with {}", with.shown());
        if *calls > 0 {
            text += &compared(now, was);
        }
        if *unfinished > 0 {
            text += &format!("; {unfinished} was cut off before it ended");
        }
        if *missed > 0 {
            text += &format!("; {missed} recordings were missed");
        }
        text
    }

    fn to_json(&self, plugin: &PluginId) -> String {
        let Self { calls, same, unfinished, missed, was, now, shown } = self;
        let cost = json!({"was": was.to_json(), "now": now.to_json()});
        let (plugin, different) = (plugin.as_ref(), shown);
        let all = json!({
            "plugin": plugin, "calls": calls, "same": same, "unfinished": unfinished, "missed": missed,
            "cost": cost, "different": different,
        });
        escape_hidden_in_json(&all.to_string())
    }
}

//! Recordings of calls: read, run again, and how what differs is shown.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use wharf_report::{ShowPath as _, shell_word};

use super::diff::diff;
use super::folder::served_folder;
use super::load_file::refused;
use super::options::Options;
use super::survey::choice_in;
use crate::config::Config;
use crate::os::files;
use crate::plugin::{
    Difference, Digest, MAX_RECORDING_FILE, Recorded, Replayed, Sandbox, Spending, What, read_component,
    read_recording, replay,
};
use crate::report::Failure;

/// The recorded calls in a file.
pub(super) fn read(path: &Path) -> Result<Vec<Recorded>, Failure> {
    let failed = |why: &str| Failure::usage(format!("read the recording: {why}: {}", path.shown()));
    let text = files::read_text(path, MAX_RECORDING_FILE).map_err(|error| failed(&error.to_string()))?;
    read_recording(&text).map_err(|why| failed(&why.to_string()).hint(why.hint().to_owned()))
}

/// How long recorded calls may run again: what a file says of one call may be an hour.
#[derive(Args)]
pub(super) struct Within {
    /// End after this time, for all calls together
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = humantime::parse_duration)]
    within: Duration,
}

/// Where the components are that run recorded calls again.
pub(super) struct Components {
    sandbox: Arc<Sandbox>,
    config: Config,
    from: From,
    /// The one that was used last.
    last: Option<(PathBuf, Arc<Vec<u8>>)>,
    /// When no call may run any more, and after what time that is.
    end: Option<(Instant, Duration)>,
}

enum From {
    /// Whatever was recorded.
    File(PathBuf),
    /// That of the plugin's name in this folder, in whatever version.
    Built(PathBuf),
    /// The recorded version, in a folder of plugins.
    Folder(PathBuf),
}

impl Components {
    /// `with`: a file. `built`: the folder of what a project built; without both, the plugin folder.
    pub(super) async fn new(
        options: &Options,
        with: Option<PathBuf>,
        built: Option<PathBuf>,
        dir: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let config = Config { of_command: true, ..options.config()? };
        let from = match (with, built) {
            (Some(file), _) => From::File(file),
            (None, Some(dist)) => From::Built(dist),
            (None, None) => From::Folder(served_folder(options, dir)?),
        };
        let sandbox = options.sandbox_of_replays(&config).await?;
        Ok(Self { sandbox, config, from, last: None, end: None })
    }

    /// The same for so long.
    pub(super) fn within(self, Within { within }: &Within) -> Self {
        // A time without end is none.
        Self { end: Instant::now().checked_add(*within).map(|end| (end, *within)), ..self }
    }

    /// Whether no call may run any more.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|(end, _)| Instant::now() >= end)
    }

    /// Runs a recorded call again.
    pub(super) async fn replay(&mut self, recorded: &Recorded) -> Result<Replayed, Failure> {
        let path = match &self.from {
            From::File(file) => file.clone(),
            From::Built(dist) => dist.join(format!("{}.wasm", recorded.input.plugin)),
            From::Folder(dir) => find(&self.config, dir, recorded).await?,
        };
        let component = match &self.last {
            Some((last, component)) if *last == path => component.clone(),
            _ => Arc::new(read_component(&path).await.map_err(|error| unloaded(refused(error, &path), &path))?),
        };
        self.last = Some((path.clone(), component.clone()));
        let replaying = replay(&self.sandbox, component, recorded);
        let replayed = match self.end {
            Some((end, within)) => timeout_at(end, replaying).await.map_err(|_| over(within))?,
            None => replaying.await,
        };
        replayed.map_err(|error| unloaded(refused(error, &path), &path))
    }
}

fn over(within: Duration) -> Failure {
    Failure::new(format!("run the call to its end within {}", humantime::format_duration(within)))
        .hint("allow more for all calls together: --within 1h".to_owned())
}

fn unloaded((reason, hint): (String, Option<String>), path: &Path) -> Failure {
    Failure::usage(format!("{reason}: {}", path.shown())).hint(hint)
}

/// The file of the recorded version in a folder of plugins: of the plugin's name, or of any other.
async fn find(config: &Config, dir: &Path, recorded: &Recorded) -> Result<PathBuf, Failure> {
    let input = &recorded.input;
    let files = choice_in(config, dir)?;
    let all = files.in_order().map(|(_, path)| path);
    let paths: Vec<PathBuf> = files.get(&input.plugin).into_iter().chain(all).map(Path::to_owned).collect();
    for path in paths {
        if read_component(&path).await.is_ok_and(|component| Digest::of(&component) == input.digest) {
            return Ok(path);
        }
    }
    let (plugin, digest, dir) = (&input.plugin, input.digest.short(), dir.shown());
    let with = files.get(plugin).map_or_else(|| "FILE.wasm".to_owned(), |other| shell_word(other).to_string());
    Err(Failure::usage(format!("find the recorded version of {plugin} in {dir}: {digest}"))
        .hint(format!("name the component to run; it may be of another version: --with {with}")))
}

/// What a recorded call and its replay have in common, on one line for people.
pub(super) fn summary(recorded: &Recorded, replayed: &Replayed) -> String {
    let (plugin, name) = (&recorded.input.plugin, recorded.input.name());
    let verdict = match &replayed.now {
        _ if replayed.is_same() => "the same",
        Some(_) => "differs",
        None => "differs, and ended where the recording has no answer",
    };
    format!("{plugin} {}: {verdict}{}", wharf_report::line(name), cost(recorded, replayed))
}

fn cost(recorded: &Recorded, replayed: &Replayed) -> String {
    replayed.now.as_ref().map(|now| compared(&now.cost, &recorded.cost)).unwrap_or_default()
}

/// What was spent now and before.
pub(super) fn compared(now: &Spending, was: &Spending) -> String {
    let (cpu, memory) = ((time(now.cpu), time(was.cpu)), (size(now.memory), size(was.memory)));
    format!(" ({} of CPU, was {}; {} of memory, was {})", cpu.0, cpu.1, memory.0, memory.1)
}

fn time(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Where a replay differs, a line or more for each difference.
pub(super) fn differences(replayed: &Replayed) -> Vec<String> {
    let mut shown: Vec<String> = replayed.differences.iter().map(difference).collect();
    if let Some((was, now)) = &replayed.outcomes {
        shown.push(format!("  it ends differently:\n{}", diff(&pretty(was), &pretty(now))));
    }
    shown
}

fn difference(Difference { what, text }: &Difference) -> String {
    let says = match what {
        What::Unanswered => "asks what the recording does not answer",
        What::New => "says what it did not say",
        What::Gone => "does not ask or say any more",
        What::Moved => "asks or says at another time",
        What::Body => "sends another body",
        What::Unread => "reads more of a response than was recorded",
        What::Clock => "reads a clock more often, which stands still then",
    };
    format!("  it {says}: {text}")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The same for programs.
pub(super) fn to_json(recorded: &Recorded, replayed: &Replayed) -> Value {
    let one = |difference: &Difference| json!({"what": word(difference.what), "text": difference.text});
    let (was, now) = replayed.outcomes.as_ref().map_or((Value::Null, Value::Null), Clone::clone);
    json!({
        "plugin": recorded.input.plugin.as_ref(),
        "called": recorded.input.name(),
        "same": replayed.is_same(),
        "answered": replayed.now.is_some(),
        "differences": replayed.differences.iter().map(one).collect::<Vec<_>>(),
        "outcome": {"was": was, "now": now},
        "cost": {
            "was": recorded.cost.to_json(),
            "now": replayed.now.as_ref().map(|now| now.cost.to_json()),
        },
    })
}

fn word(what: What) -> &'static str {
    match what {
        What::Unanswered => "unanswered",
        What::New => "new",
        What::Gone => "gone",
        What::Moved => "moved",
        What::Body => "body",
        What::Unread => "unread",
        What::Clock => "clock",
    }
}

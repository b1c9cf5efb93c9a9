//! The budgets of a server: those that its configuration has, and a file that says what is left, for `wharf status`.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::MissedTickBehavior;
use wharf_report::{ShowPath as _, line};

use crate::budgets::{Budgets, Left, Usage};
use crate::config::{self, Config, Live};
use crate::json;
use crate::os::paths::absolute;
use crate::os::private::{self, Durability};

/// Of the state folder. Each server has a file of its own there, by the number of its process.
const FOLDER: &str = "budgets";
const MAX_SIZE: u64 = 1 << 20;
/// Maximum accounts in a file, and files that are read.
const MAX_ACCOUNTS: usize = 100;
const MAX_FILES: usize = 100;
/// A window that a file may name: anything of this user may have written it.
const MAX_SECONDS: f64 = 1e9;
const PAUSE: Duration = Duration::from_secs(1);
/// A file that was not written for so long is of a server that was killed.
const STALE: Duration = Duration::from_secs(10);

/// What a server says is left.
#[derive(Deserialize, Serialize)]
struct Report {
    /// The plugin folder.
    folder: PathBuf,
    budgets: Vec<Usage>,
}

/// Replaces the budgets of a server whenever those of the configuration change.
pub(super) async fn follow(config: Live, budgets: Arc<Budgets>) {
    // Scopes that include others are those of the rights.
    let part = |config: &Config| {
        let scopes = config.rights.as_ref().map(|rights| rights.scopes.clone());
        config.budgets.clone().map(|budgets| (budgets, scopes))
    };
    let follow = |new: Option<&Config>| match new {
        None => tracing::error!(
            hint = "to end them without a restart, write budgets = []",
            "budgets unchanged: the configuration has none"
        ),
        Some(new) => {
            let (built, implied) = new.budgets();
            tracing::info!(budgets = built.len(), "budgets changed");
            budgets.replace(built, implied);
        }
    };
    config.follow_part(part, follow).await;
}

/// Keeps the file of a server as its budgets are, until it is dropped.
pub(super) async fn report(budgets: Arc<Budgets>, dir: PathBuf) -> Infallible {
    let Some(base) = config::base() else { return std::future::pending().await };
    let folder = base.state.join(FOLDER);
    let file = ReportFile(Arc::new(folder.join(format!("{}.json", std::process::id()))));
    let mut ticks = tokio::time::interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut is_there, mut failed) = (false, false);
    loop {
        ticks.tick().await;
        let used = budgets.usage(MAX_ACCOUNTS);
        if used.is_empty() && !is_there {
            continue;
        }
        is_there = !used.is_empty();
        let report = Report { folder: absolute(&dir), budgets: used };
        let path = file.0.clone();
        let written = spawn_blocking(move || match report.budgets.is_empty() {
            true => fs::remove_file(&*path),
            false => write(&path, &report),
        });
        if let Ok(Err(error)) = written.await
            && !std::mem::replace(&mut failed, true)
        {
            tracing::warn!(%error, "failed to write what is left of budgets: {}", file.0.shown());
        }
    }
}

/// Removed when it is dropped.
struct ReportFile(Arc<PathBuf>);

impl Drop for ReportFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&*self.0);
    }
}

fn write(path: &Path, report: &Report) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private::create_trusted_folder(folder)?;
    }
    // Lost in a crash, it is written again within a second.
    let next = path.with_extension("next");
    private::write(&next, &[&serde_json::to_vec(report)?], Durability::Deferred)?;
    fs::rename(&next, path)
}

/// What servers of a plugin folder say is left. Blocks the calling thread.
pub(super) fn left(dir: &Path) -> Vec<Usage> {
    let Some(base) = config::base() else { return Vec::new() };
    let Ok(files) = fs::read_dir(base.state.join(FOLDER)) else { return Vec::new() };
    let dir = absolute(dir);
    let mut left = Vec::new();
    for file in files.take(MAX_FILES).filter_map(Result::ok) {
        let is_fresh = |written: SystemTime| SystemTime::now().duration_since(written).is_ok_and(|age| age < STALE);
        if !file.metadata().and_then(|found| found.modified()).is_ok_and(is_fresh) {
            continue;
        }
        // It may have been removed meanwhile.
        let Ok(text) = private::read_text(&file.path(), MAX_SIZE) else { continue };
        let report: Option<Report> = json::read(&text).ok();
        left.extend(report.filter(|report| report.folder == dir).map(|report| report.budgets).unwrap_or_default());
    }
    left
}

/// For people: what is left of each budget of the configuration, and of those before it that a server still has.
pub(super) fn to_text(config: &Config, left: &[Usage]) -> String {
    let configured = config.budgets.iter().flatten().enumerate().map(|(at, budget)| budget.shown_name(at));
    let unspent = configured.filter(|name| left.iter().all(|usage| usage.budget != *name));
    let lines: String =
        left.iter().map(spent).chain(unspent.map(|name| format!("  {}  nothing spent\n", line(&name)))).collect();
    if lines.is_empty() { lines } else { format!("budgets\n{lines}") }
}

fn spent(usage: &Usage) -> String {
    let overdrawn =
        |left: f64, less: String| if left < 0.0 { format!(" (overdrawn by {less})") } else { String::new() };
    let bytes = |bytes: f64| ByteSize(bytes as u64).to_string();
    let calls = usage.calls.map(|Left { left, of }| format!("{} of {of} calls", left.max(0.0).floor()));
    let cpu = usage.cpu.map(|Left { left, of }| {
        let overdrawn = overdrawn(left, format!("{:.1} s", -left));
        format!("{:.1} of {of:.1} s of computing{overdrawn}", left.max(0.0))
    });
    let size = usage.bytes.map(|Left { left, of }| {
        let overdrawn = overdrawn(left, bytes(-left));
        format!("{} of {}{overdrawn}", bytes(left.max(0.0)), bytes(of))
    });
    let running = usage.concurrent.map(|most| format!("{} of {most} at a time", most.saturating_sub(usage.running)));
    let left: Vec<String> = [calls, cpu, size, running].into_iter().flatten().collect();
    let whose = [&usage.subject, &usage.plugin, &usage.tool].into_iter().flatten();
    let whose: String = whose.map(|name| format!("  {}", line(name))).collect();
    let window = humantime::format_duration(Duration::from_secs_f64(usage.window.clamp(0.0, MAX_SECONDS)));
    let refused = if usage.refused == 0 { String::new() } else { format!("; {} refused", usage.refused) };
    format!("  {}{whose}  left: {}, in {window}{refused}\n", line(&usage.budget), left.join(", "))
}

//! `wharf test`: recorded calls as tests of a plugin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ERROR, GOOD, ShowPath as _, shell_word};

use super::options::Options;
use super::recordings::{Components, Within, differences, read};
use crate::os::paths::{folder_of, with_suffix};
use crate::os::private::{self, Durability};
use crate::plugin::{Recorded, Replayed};
use crate::report::{self, Failure, Screen};

/// Where a project has its recordings.
const FOLDER: &str = "recordings";
/// Recordings in one folder.
const MAX_FILES: usize = 10_000;

#[derive(Args)]
pub(super) struct TestOptions {
    /// A folder of recordings, or the project that has them in its folder `recordings`
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The component to test [default: what `wharf build` wrote to the project's `dist`; outside of a project the
    /// recorded version, from the plugin folder]
    #[arg(long, value_name = "WASM")]
    with: Option<PathBuf>,
    /// The plugin folder in which the recorded versions are
    #[arg(long = "dir", value_name = "DIR", conflicts_with = "with")]
    plugins: Option<PathBuf>,
    #[command(flatten)]
    within: Within,
    /// Accept what differs: write it into the recordings
    #[arg(long)]
    bless: bool,
}

pub(super) async fn run(options: &Options, how: TestOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let TestOptions { dir, with, plugins, within, bless } = how;
    let own = dir.join(FOLDER);
    let dir = if own.is_dir() { own } else { dir };
    let files = recordings_in(&dir)?;
    let built =
        (with.is_none() && plugins.is_none()).then(|| project_of(&dir)).flatten().map(|project| project.join("dist"));
    let mut components = Components::new(options, with, built, plugins).await?.within(&within);
    let (mut good, mut left) = (0, files.len());
    for file in &files {
        if components.is_over() {
            break;
        }
        left -= 1;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let tested = screen.timed(&format!("testing {name}"), test(&mut components, file)).await;
        let lines = match tested {
            Ok(calls) if calls.iter().all(|(_, replayed)| replayed.is_same()) => {
                good += 1;
                vec![format!("{GOOD}same{GOOD:#}     {}", wharf_report::line(&name))]
            }
            Ok(calls) if bless => match accept(file, &calls)? {
                true => {
                    good += 1;
                    vec![format!("{GOOD}accepted{GOOD:#} {}", wharf_report::line(&name))]
                }
                false => differing(&name, &calls, Some("  record it again: its answers are not enough any more")),
            },
            Ok(calls) => differing(&name, &calls, None),
            Err(failure) => {
                let (why, hint) = failure.into_parts();
                let hint = hint.map(|hint| format!("  {hint}"));
                let first = format!("{ERROR}failed{ERROR:#}   {}", wharf_report::line(&name));
                [Some(first), Some(format!("  {why}")), hint].into_iter().flatten().collect()
            }
        };
        report::print(&lines.join("\n"))?;
    }
    let (all, dir) = (files.len(), dir.shown());
    let unrun = if left == 0 { String::new() } else { format!("; {left} were not run, since the time was over") };
    report::print(&format!("{good} of {all} recordings in {dir} are the same{unrun}"))?;
    Ok(if good == all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn test(components: &mut Components, file: &Path) -> Result<Vec<(Recorded, Replayed)>, Failure> {
    let mut tested = Vec::new();
    for recorded in read(file)? {
        let replayed = components.replay(&recorded).await?;
        tested.push((recorded, replayed));
    }
    Ok(tested)
}

fn differing(name: &str, calls: &[(Recorded, Replayed)], more: Option<&str>) -> Vec<String> {
    let first = format!("{ERROR}differs{ERROR:#}  {}", wharf_report::line(name));
    let differences = calls.iter().flat_map(|(_, replayed)| differences(replayed));
    std::iter::once(first).chain(differences).chain(more.map(str::to_owned)).collect()
}

/// Writes what the calls did now in place of what was recorded. False if one of them was not answered to its end.
fn accept(file: &Path, calls: &[(Recorded, Replayed)]) -> Result<bool, Failure> {
    let Some(now) = calls.iter().map(|(_, replayed)| replayed.now.as_ref()).collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let text: String = now.into_iter().flat_map(Recorded::lines).collect();
    // As it was recorded, for this user alone; a link is replaced and not followed.
    let next = with_suffix(file, &format!(".{}.next", std::process::id()));
    private::write(&next, &[text.as_bytes()], Durability::Synced)
        .and_then(|()| fs::rename(&next, file))
        .map_err(|error| Failure::new(format!("write the recording: {error}: {}", file.shown())))?;
    Ok(true)
}

/// The recordings in a folder, by name.
fn recordings_in(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("read the folder of recordings: {error}: {}", dir.shown()))
            .hint("name the folder that the .jsonl files are in: wharf test DIR".to_owned())
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            return Err(Failure::usage(format!("test {}: it has more than {MAX_FILES} recordings", dir.shown())));
        }
    }
    if files.is_empty() {
        let folder = if dir.join("plugin.toml").is_file() { dir.join(FOLDER) } else { dir.to_owned() };
        let into = shell_word(&folder.join("NAME.jsonl")).to_string();
        return Err(Failure::usage(format!("find recordings in {}", dir.shown()))
            .hint(format!("make one with: wharf record TARGET TOOL [ARGUMENT…] -o {into}")));
    }
    files.sort();
    Ok(files)
}

/// The project that a folder of recordings belongs to: the folder itself, or the one that it is in.
fn project_of(dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().ok()?;
    let folders = [Some(dir.as_path()), folder_of(&dir)];
    folders.into_iter().flatten().find(|folder| folder.join("plugin.toml").is_file()).map(Path::to_owned)
}

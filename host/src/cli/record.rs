//! `wharf record`: one tool call from the shell, whose recording is kept.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, shell_word, warning};

use super::call::{self, CallOptions};
use super::options::Options;
use crate::os::paths::folder_of;
use crate::os::private;
use crate::plugin::{Recorded, Recorder};
use crate::report::{self, Failure, Screen};

/// Files of one name in a folder.
const MAX_NAMED: usize = 1000;

#[derive(Args)]
pub(super) struct RecordOptions {
    #[command(flatten)]
    call: CallOptions,
    /// The file to write, which must not exist [default: PLUGIN-TOOL.jsonl in this folder, or the next such name]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) async fn run(options: &Options, how: RecordOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let RecordOptions { call, output } = how;
    // Before the call, which may change something.
    output.as_deref().map_or(Ok(()), check_new)?;
    let path = call.path().to_owned();
    let recorder = Recorder::in_memory();
    recorder.hide(&options.config()?.readable_secrets());
    let options = Options { recorder: recorder.clone(), ..options.clone() };
    let ended = call::run(&options, call, screen).await;
    let (mut calls, mut why) = (Vec::new(), None);
    for kept in recorder.take() {
        match kept {
            Ok(recorded) => calls.push(recorded),
            Err(reason) => why = Some(reason),
        }
    }
    if calls.is_empty() {
        // Why it could not be called comes first.
        let code = ended?;
        return match why {
            Some(why) => Err(Failure::new(format!("record the call: {why}"))
                .hint("the call itself was made: only its recording is missing".to_owned())),
            None => Ok(code),
        };
    }
    if let Some(why) = why {
        warning(&format!("a part of the call is missing in the recording: {why}"));
    }
    let file = write(&calls, output)?;
    let (program, shown) = (options.program(), shell_word(&file));
    let from = if path.is_dir() { "--dir" } else { "--with" };
    let again = format!("{program} replay {shown} {from} {}", shell_word(&path));
    report::message(&format!("recorded in {}; run it again with: {again}", file.shown()));
    ended
}

/// Whether a recording can be written into a new file of that name.
fn check_new(file: &Path) -> Result<(), Failure> {
    let failed =
        |why: &str, hint: String| Failure::usage(format!("write the recording: {why}: {}", file.shown())).hint(hint);
    if is_taken(file) {
        return Err(failed("the file exists already", "remove it, or name another one: -o FILE".to_owned()));
    }
    let folder = folder_of(file).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(failed("there is no such folder", format!("make it first: mkdir -p {}", shell_word(folder))));
    }
    Ok(())
}

/// A link without a target has its name, too.
fn is_taken(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

/// Writes the calls into a new file that only this user can read.
fn write(calls: &[Recorded], output: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let failed =
        |file: &Path, error: std::io::Error| Failure::new(format!("write the recording: {error}: {}", file.shown()));
    let file = match output {
        Some(file) => file,
        None => free_name(&calls[0]),
    };
    let mut opened = private::create(&file).map_err(|error| failed(&file, error))?;
    for line in calls.iter().flat_map(Recorded::lines) {
        opened.write_all(line.as_bytes()).map_err(|error| failed(&file, error))?;
    }
    Ok(file)
}

fn free_name(call: &Recorded) -> PathBuf {
    let name = format!("{}-{}", call.input.plugin, call.input.name());
    let numbered = (2..MAX_NAMED).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered).map(|name| PathBuf::from(name + ".jsonl"));
    names.find(|file| !is_taken(file)).unwrap_or_else(|| PathBuf::from(name + ".jsonl"))
}

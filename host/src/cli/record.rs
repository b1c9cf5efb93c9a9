//! `wharf record`: one tool call from the shell, whose recording is kept.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use wharf_report::{ShowPath as _, shell_word, warning};

use super::call::{self, CallOptions};
use super::options::Options;
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
    if let Some(file) = output.as_ref().filter(|file| file.exists()) {
        return Err(Failure::usage(format!("write the recording: the file exists already: {}", file.shown()))
            .hint("remove it, or name another one: -o FILE".to_owned()));
    }
    let recorder = Recorder::in_memory();
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
    report::message(&format!("recorded in {}; run it again with: {program} replay {shown}", file.shown()));
    ended
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
    names.find(|file| !file.exists()).unwrap_or_else(|| PathBuf::from(name + ".jsonl"))
}

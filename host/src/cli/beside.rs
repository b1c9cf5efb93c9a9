//! `wharf-mcp`: runs the `wharf` in its folder. Clients start a package by the package's own name.

use std::env::{self, consts::EXE_SUFFIX};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wharf_report::ShowPath as _;

use crate::os::process::{replace_with, replacement_mark};
use crate::report::{self, Failure};

/// Set for the program that is run. If that is this one again, under the name `wharf`, it would run itself for ever.
const MARK: &str = "WHARF_MCP_RUNS";

/// Runs the `wharf` beside this program, with the same arguments, streams and environment.
pub fn program_beside() -> ExitCode {
    let mark = replacement_mark();
    let failed = beside().and_then(|program| match env::var(MARK).is_ok_and(|found| found == mark) {
        true => Err(itself(&program)),
        false => replace_with(&program, (MARK, &mark)).map_err(|error| failure(&error, &program)),
    });
    failed.unwrap_or_else(|failure| {
        report::failure(&failure);
        ExitCode::from(failure.code)
    })
}

fn beside() -> Result<PathBuf, Failure> {
    let found = env::current_exe().map_err(|error| Failure::usage(format!("find this program: {error}")))?;
    // Where a system does not resolve it, it may be a link from a folder of commands.
    let own = found.canonicalize().unwrap_or(found);
    Ok(own.with_file_name(format!("wharf{EXE_SUFFIX}")))
}

fn itself(program: &Path) -> Failure {
    Failure::usage(format!("start Wharf: this file is wharf-mcp itself, and not wharf: {}", program.shown()))
        .hint("install both again, or copy wharf there".to_owned())
}

fn failure(error: &io::Error, program: &Path) -> Failure {
    let shown = program.shown();
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::usage(format!("start Wharf: {error}: {shown}"));
    }
    Failure::usage(format!("start Wharf: there is no such file: {shown}"))
        .hint("wharf-mcp runs the wharf in its own folder: install both again, or copy wharf there".to_owned())
}

//! `wharf call`, `wharf read` and `wharf prompt`: what they print of a plugin's answers, messages and crashes.

mod arguments;
mod crashes;
mod files;
mod listing;
mod messages;
mod primitives;
mod questions;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Output;

use crate::support::home::Home;
use crate::support::process::run_waiting;

/// What a command printed, and its exit code.
struct Ran {
    code: i32,
    out: String,
    err: String,
    /// The lines that say what is waited for.
    waits: Vec<String>,
}

impl Ran {
    fn of((output, waits): (Output, Vec<String>)) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = output.status.code().expect("no signal");
        let ran = Self { code, out: text(output.stdout), err: text(output.stderr), waits };
        assert!(!ran.err.contains("panicked at host"), "{}", ran.err);
        ran
    }
}

/// Runs `wharf COMMAND PATH ARGUMENTS…`.
fn wharf(home: &Home, command: &str, path: &Path, arguments: &[&str]) -> Ran {
    let arguments = arguments.iter().map(AsRef::<OsStr>::as_ref);
    Ran::of(run_waiting(home, [command.as_ref(), path.as_os_str()].into_iter().chain(arguments)))
}

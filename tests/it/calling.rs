//! `wharf call`, `wharf read` and `wharf prompt`: what they print of a plugin's answers, messages and crashes.

mod arguments;
mod crashes;
mod listing;
mod messages;
mod primitives;
mod questions;

use std::ffi::OsStr;
use std::path::Path;
use std::process::Output;

use crate::support::home::Home;
use crate::support::process::run;

/// What a command printed, and its exit code.
struct Ran {
    code: i32,
    out: String,
    /// Without the lines that say what a slow machine waits for.
    err: String,
    waits: Vec<String>,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let (out, err) = (text(output.stdout), text(output.stderr));
        let (waits, err): (Vec<&str>, Vec<&str>) = err.split_inclusive('\n').partition(|line| line.ends_with(" …\n"));
        let waits = waits.into_iter().map(str::to_owned).collect();
        let ran = Self { code: output.status.code().expect("no signal"), out, err: err.concat(), waits };
        assert!(!ran.err.contains("panicked at host"), "{}", ran.err);
        ran
    }
}

/// Runs `wharf COMMAND PATH ARGUMENTS…`.
fn wharf(home: &Home, command: &str, path: &Path, arguments: &[&str]) -> Ran {
    let arguments = arguments.iter().map(AsRef::<OsStr>::as_ref);
    Ran::of(run(home, [command.as_ref(), path.as_os_str()].into_iter().chain(arguments)))
}

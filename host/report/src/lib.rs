//! Output of Wharf's commands for people, and errors in files that they wrote.
//!
//! Errors have one form: a lowercase fragment that reads after "failed to", the value last, and a hint
//! on a separate line.

mod clock;
mod input;
mod screen;
mod shown;
mod wrap;

use std::io::{self, Write as _};

use anstyle::AnsiColor;
pub use anstyle::Style;

pub use self::clock::time_of_day;
pub use self::input::{
    Format, Hint, HintKind, InvalidToml, Key, bounded, did_you_mean, from_toml, from_toml_of, toml_place, wrong_value,
};
pub use self::screen::Screen;
pub use self::shown::{ShowPath, ShownPath, line, shell_text, shell_word};
pub use self::wrap::{column, columns, cut, wrap};

pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// States that need nothing.
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// Names of members, texts and other values of JSON.
pub const MEMBER: Style = AnsiColor::Blue.on_default();
pub const TEXT: Style = AnsiColor::Green.on_default();
pub const LITERAL: Style = AnsiColor::Cyan.on_default();
/// What is less important.
pub const DIM: Style = Style::new().dimmed();
/// Names of tools and plugins.
pub const NAME: Style = Style::new().bold();

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// Reads after "failed to".
    what: String,
    hint: Option<String>,
    /// The exit code: 1 or 2, as documented in the help.
    pub code: u8,
}

impl Failure {
    /// Exit code 1: a check or tool failed.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, code: 1 }
    }

    /// Exit code 2: invalid usage or configuration.
    pub fn usage(what: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(what) }
    }

    pub fn hint(self, hint: impl Into<Option<String>>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// What could not be done, which reads after "failed to", and the hint.
    pub fn into_parts(self) -> (String, Option<String>) {
        (self.what, self.hint)
    }

    /// Adds an alternative to the hint.
    pub fn or_hint(self, other: &str) -> Self {
        let hint = self.hint.map_or_else(|| other.to_owned(), |hint| format!("{hint}; or: {other}"));
        Self { hint: Some(hint), ..self }
    }
}

/// Whether stderr takes colours.
pub fn is_coloured() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Writes to stderr in one call, since other processes may write there too. Errors are ignored: there
/// is nowhere to report them.
pub fn message(text: &str) {
    let mut styled = anstream::AutoStream::new(Vec::new(), anstream::AutoStream::choice(&io::stderr()));
    let _ = writeln!(styled, "{}", shown::styled(text));
    let _ = io::stderr().lock().write_all(&styled.into_inner());
}

/// Writes data to stdout.
///
/// # Errors
/// If it cannot be written. A reader that has closed the pipe is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    print_more(text).map(drop)
}

/// As [`print`], of a part of the data; returns whether the reader still wants more.
///
/// # Errors
/// If it cannot be written.
pub fn print_more(text: &str) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{}{line_end}", shown::styled(text)).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("write to stdout: {error}")))
        }
        written => Ok(written.is_ok()),
    }
}

pub fn failure(failure: &Failure) {
    message(&format!("{ERROR}error{ERROR:#}: failed to {}", line(&failure.what)));
    hint(failure.hint.as_deref());
}

/// A warning that something was done only in part.
pub fn warning(text: &str) {
    message(&format!("{WARNING}warning{WARNING:#}: {}", line(text)));
}

/// The hint, if there is one.
pub fn hint(text: Option<&str>) {
    if let Some(text) = text {
        message(&format!("{HINT}hint{HINT:#}: {}", line(text)));
    }
}

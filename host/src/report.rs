//! What people read on the terminal and in the log.
//!
//! Text follows one rule: a lowercase fragment that reads after "failed to", the value
//! last, and advice on a line of its own.

mod log;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::mpsc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use crate::catalog::{FolderEvent, Held, Refusal};
use crate::config::{Config, ConfigError};
use crate::pins::Outcome;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();
/// Names of tools and plugins.
pub(crate) const NAME: Style = Style::new().bold();

/// Why a command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Reads after "failed to".
    what: String,
    hint: Option<String>,
    /// 1 or 2, as the help says.
    pub(crate) code: u8,
}

impl Failure {
    /// The answer is no.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, code: 1 }
    }

    /// The question was wrong.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { code: 2, ..Self::new(what) }
    }

    pub(crate) fn hint(self, hint: impl Into<Option<String>>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// Another way, beside that of the hint.
    pub(crate) fn or_hint(self, other: &str) -> Self {
        let hint = self.hint.map_or_else(|| other.to_owned(), |hint| format!("{hint}; or: {other}"));
        Self { hint: Some(hint), ..self }
    }
}

/// Writes to stderr, at once and whole: another process may write there, too. Errors are
/// dropped: there is nowhere left to report them.
pub(crate) fn tell(text: &str) {
    let mut styled = anstream::AutoStream::new(Vec::new(), anstream::AutoStream::choice(&io::stderr()));
    let _ = writeln!(styled, "{text}");
    let _ = io::stderr().lock().write_all(&styled.into_inner());
}

/// Writes data to stdout.
///
/// # Errors
/// If it cannot be written, except for a reader that has gone.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{line_end}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

pub(crate) fn failure(failure: &Failure) {
    tell(&format!("{ERROR}error{ERROR:#}: failed to {}", failure.what));
    hint(failure.hint.as_deref());
}

/// What was done in part, and in which not.
pub(crate) fn warning(text: &str) {
    tell(&format!("{WARNING}warning{WARNING:#}: {text}"));
}

fn hint(text: Option<&str>) {
    if let Some(text) = text {
        tell(&format!("{HINT}hint{HINT:#}: {text}"));
    }
}

pub(crate) fn refusal(refusal: &Refusal) {
    let still = if refusal.still_serving { " (the version before it goes on serving)" } else { "" };
    tell(&format!("{ERROR}refused{ERROR:#} {}: failed to {}{still}", refusal.path.display(), refusal.reason));
    hint(refusal.hint.as_deref());
}

pub(crate) use log::Log;

/// Starts the log on stderr, of a server through its [`Log`].
///
/// # Errors
/// If the filter is not one.
pub(crate) fn start_log(filter: &str, log: Option<&Log>) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format!("read the log level: {error}: {filter}"))
            .hint("use error, warn, info, debug or trace, or for example info,wharf=debug".to_owned())
    })?;
    let colour = anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let writer = log.map_or_else(|| BoxMakeWriter::new(io::stderr), |log| BoxMakeWriter::new(log.clone()));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(colour)
        .with_target(false)
        // Otherwise a closed stderr would be a panic.
        .log_internal_errors(false)
        .init();
    Ok(())
}

/// Logs what happens in the plugin folder.
pub(crate) fn log(event: &FolderEvent) {
    match event {
        FolderEvent::Found(_) | FolderEvent::Loading(_) | FolderEvent::Settled => {}
        FolderEvent::Loaded { id, digest, tools, took, .. } => {
            tracing::info!(plugin = %id, version = %digest.short(), tools, ms = took.as_millis() as u64, "loaded");
        }
        FolderEvent::Admitted(decision) => {
            let (plugin, version) = (&decision.plugin, decision.content.short());
            match decision.outcome {
                Ok(Outcome::Followed { other_words: true }) => {
                    tracing::info!(%plugin, version, "it says other things of itself than the version before it");
                }
                _ => tracing::debug!(%plugin, version, "admitted: {}", decision.event()),
            }
        }
        FolderEvent::Held(held) => {
            let Held { path, decision, hint, still_serving } = held;
            let (plugin, version) = (&decision.plugin, decision.content.short());
            let Err(reason) = &decision.outcome else { return };
            tracing::warn!(%plugin, version, file = %path.display(), still_serving, hint, "held: {reason}");
        }
        FolderEvent::Reconfigured(id) => tracing::info!(plugin = %id, "took up its settings"),
        FolderEvent::Removed(id) => tracing::info!(plugin = %id, "removed"),
        FolderEvent::Refused(refusal) => {
            let still_serving = refusal.still_serving;
            tracing::warn!(file = %refusal.path.display(), still_serving, hint = refusal.hint, "refused: failed to {}", refusal.reason);
        }
        FolderEvent::Warned(warning) => tracing::warn!("{warning}"),
    }
}

/// Logs each reading of the configuration file. `start` is what the server was started with.
pub(crate) fn reconfigured(start: &Config) -> impl Fn(Result<&Config, ConfigError>) + use<> {
    let (server, audit, sandbox) = (start.server.clone(), start.audit.clone(), start.sandbox.clone());
    move |read| match read {
        Ok(config) if config.server != server || config.audit != audit || config.sandbox != sandbox => {
            tracing::warn!(
                "read the configuration again; what changed in [server], [audit] and [sandbox] counts from the next start"
            );
        }
        Ok(_) => tracing::info!("read the configuration again"),
        Err(error) => tracing::error!(hint = error.hint, "the configuration stays as it was: failed to {error}"),
    }
}

/// Tells of the first scan, and shows on a terminal how it goes, until all that it found is in
/// service or refused.
pub(crate) async fn first_scan(events: &mut mpsc::UnboundedReceiver<FolderEvent>, tell: impl Fn(&FolderEvent)) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{spinner} loading {pos}/{len} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    while let Some(event) = events.recv().await {
        match &event {
            FolderEvent::Found(count) => bar.set_length(*count as u64),
            FolderEvent::Loading(id) => bar.set_message(id.to_string()),
            FolderEvent::Loaded { .. } | FolderEvent::Refused(_) | FolderEvent::Held(_) => bar.inc(1),
            FolderEvent::Admitted(_)
            | FolderEvent::Reconfigured(_)
            | FolderEvent::Removed(_)
            | FolderEvent::Warned(_) => {}
            FolderEvent::Settled => break,
        }
        bar.suspend(|| tell(&event));
    }
    bar.finish_and_clear();
}

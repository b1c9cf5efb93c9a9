//! Output of a server for people, on the terminal and in the log. Output common to all commands is in
//! `wharf_report`.

mod announced;
mod clock;
mod guest_lines;
mod log;
#[cfg_attr(not(feature = "dev"), path = "report/no_progress.rs")]
mod progress;
mod screen;

use std::fmt;
use std::io::{self, IsTerminal as _};

use tokio::sync::mpsc;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use wharf_report::{ERROR, ShowPath as _, WARNING, hint, is_coloured, line};
pub(crate) use wharf_report::{Failure, NAME, Screen, failure, message, print};

use self::announced::{Announced, DIRECTIVE};
pub(crate) use self::announced::{announce, log_failure};
use self::clock::Clock;
use self::guest_lines::GuestLines;
pub(crate) use self::log::Log;
use self::progress::Progress;
use self::screen::OnScreen;
use crate::catalog::{FolderEvent, Held, RefusedFile};
use crate::config::{Config, ConfigError};
use crate::pins::{AdmittedAs, Reason};

pub(crate) fn refusal(refusal: &RefusedFile) {
    let note = if refusal.still_serving { " (the previous version keeps serving)" } else { "" };
    message(&format!("{ERROR}refused{ERROR:#} {}: failed to {}{note}", refusal.path.shown(), line(&refusal.reason)));
    hint(refusal.hint.as_deref());
}

/// As `wharf status` and the log say it.
pub(crate) fn held(held: &Held) {
    let Err(reason) = &held.decision.outcome else { return };
    message(&format!("{WARNING}held{WARNING:#} {}: {}", held.path.shown(), line(&held_text(reason))));
    hint(Some(&held.hint));
}

/// Why a version is held, and whether it waits for an approval.
fn held_text(reason: &Reason) -> String {
    match reason {
        Reason::Revoked => "revoked".to_owned(),
        reason if reason.needs_approval() => format!("pending approval, {reason}"),
        reason => reason.to_string(),
    }
}

/// Where the log is written, and how.
pub(crate) enum LogStyle<'a> {
    /// One event to a line, with its time and fields.
    Server(&'a Log),
    /// One event to a line, as a JSON object: for programs.
    ServerInJson(&'a Log),
    /// As [`Self::Server`], with what guests print as plain lines: for `wharf dev`.
    ServerOfAuthor(&'a Log),
    /// Plain lines, for a command that a person waits for.
    Command(&'a Screen),
}

/// Starts the log on stderr.
///
/// # Errors
/// If the filter is invalid.
pub(crate) fn start_log(filter: &str, style: &LogStyle<'_>) -> Result<(), Failure> {
    let invalid = |why: &str| {
        Failure::usage(format!("read the log level: {why}"))
            .hint("use off, error, warn, info, debug or trace, or for example info,wharf=debug".to_owned())
    };
    // The filter takes any other word as the name of a target, which silences everything else.
    if let Some(word) = filter.split(',').find(|part| !part.contains('=') && part.parse::<LevelFilter>().is_err()) {
        return Err(invalid(&format!("there is no level {word:?}")));
    }
    let with_announced = format!("{filter},{DIRECTIVE}");
    let filter = EnvFilter::try_new(with_announced).map_err(|error| invalid(&format!("{error}: {filter}")))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(is_coloured())
        .fmt_fields(OneLine)
        // Otherwise a closed stderr would be a panic.
        .log_internal_errors(false);
    // That of `wharf dev` passes through a pipe.
    let is_read_along = matches!(style, LogStyle::ServerOfAuthor(_)) || io::stderr().is_terminal();
    let clock = if is_read_along { Clock::OfDay } else { Clock::Complete };
    let format = tracing_subscriber::fmt::format().with_target(false).with_timer(clock);
    match style {
        LogStyle::Server(log) => builder.event_format(Announced { others: format }).with_writer((*log).clone()).init(),
        LogStyle::ServerInJson(log) => {
            builder.json().flatten_event(true).with_ansi(false).with_writer((*log).clone()).init();
        }
        LogStyle::ServerOfAuthor(log) => {
            let format = Announced { others: format };
            builder.event_format(GuestLines { others: format, screen: None }).with_writer((*log).clone()).init();
        }
        LogStyle::Command(screen) => {
            let screen = (*screen).clone();
            let format = GuestLines { others: format.without_time(), screen: Some(screen.clone()) };
            builder.event_format(format).with_writer(OnScreen(screen)).init();
        }
    }
    Ok(())
}

/// Writes an event as one line, whatever its text has from outside.
struct OneLine;

impl<'writer> FormatFields<'writer> for OneLine {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut text = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut text), fields)?;
        writer.write_str(&line(&text))
    }
}

/// Logs an event of the plugin folder.
pub(crate) fn log(event: &FolderEvent) {
    match event {
        FolderEvent::Found(_) | FolderEvent::Loading(_) | FolderEvent::FirstScanDone | FolderEvent::Unchanged(_) => {}
        FolderEvent::Loaded { id, digest, tools, took, .. } => {
            tracing::info!(plugin = %id, version = %digest.short(), tools, ms = took.as_millis() as u64, "loaded");
        }
        FolderEvent::Admitted(decision) => {
            let (plugin, version) = (&decision.plugin, decision.content.short());
            match decision.outcome {
                Ok(AdmittedAs::Updated { surface_changed: true }) if !plugin.is_skill() => {
                    tracing::info!(%plugin, version, "tool descriptions changed from the previous version");
                }
                _ => tracing::debug!(%plugin, version, "admitted: {}", decision.event()),
            }
        }
        FolderEvent::Held(held) => {
            let Held { path, decision, hint, still_serving } = held;
            let (plugin, version) = (&decision.plugin, decision.content.short());
            let Err(reason) = &decision.outcome else { return };
            tracing::warn!(%plugin, version, file = %path.shown(), still_serving, hint, "held: {reason}");
        }
        FolderEvent::Reconfigured(id) => tracing::info!(plugin = %id, "settings reloaded"),
        FolderEvent::Removed(id) => tracing::info!(plugin = %id, "removed"),
        FolderEvent::Refused(refusal) => {
            let still_serving = refusal.still_serving;
            tracing::warn!(file = %refusal.path.shown(), still_serving, hint = refusal.hint, "refused: failed to {}", refusal.reason);
        }
        FolderEvent::Warned(warning) => tracing::warn!("{warning}"),
    }
}

/// The tables that hold from the next start on, besides `[server]`.
const AT_START: &str = "[audit], [metrics], [page], [telemetry], [record] and [sandbox]";

/// Logs each reload of the configuration file. `start` is the configuration at the start.
pub(crate) fn reconfigured(start: &Config) -> impl Fn(Result<&Config, ConfigError>) + use<> {
    let fixed = |config: &Config| {
        let mut server = config.server.clone();
        server.http.tokens.clear();
        let operators = (config.metrics.clone(), config.page.clone(), config.telemetry.clone());
        (server, config.audit.clone(), operators, config.record.clone(), config.sandbox.clone())
    };
    let (at_start, tokens) = (fixed(start), start.server.http.tokens.clone());
    let file = start.file.clone();
    let warn = |config: &Config| config.conditions_for_nobody().for_each(|text| tracing::warn!("{text}"));
    move |read| match read.inspect(|config| warn(config)) {
        Ok(_) if file.as_ref().is_some_and(|file| !file.exists()) => tracing::warn!(
            "the configuration file was removed: no plugin has grants, and the defaults apply, those of [server], \
             {AT_START} from the next start"
        ),
        Ok(config) if fixed(config) != at_start => {
            tracing::warn!(
                "configuration reloaded; changes of [server], {AT_START} take effect at the next start, but those of \
                 server.http.tokens and of certificates at SIGHUP"
            );
        }
        Ok(config) if config.server.http.tokens != tokens => {
            tracing::info!("configuration reloaded; changes of server.http.tokens take effect at SIGHUP");
        }
        Ok(_) => tracing::info!("configuration reloaded"),
        Err(error) => tracing::error!(
            hint = error.hint,
            "configuration not reloaded, the previous one stays in force: failed to {error}"
        ),
    }
}

/// Reports the events of the first scan, with progress on a terminal, until all files are in service
/// or refused.
pub(crate) async fn first_scan(events: &mut mpsc::UnboundedReceiver<FolderEvent>, report: impl Fn(&FolderEvent)) {
    let progress = Progress::start();
    while let Some(event) = events.recv().await {
        if matches!(event, FolderEvent::FirstScanDone) {
            break;
        }
        progress.show(&event);
        progress.suspend(|| report(&event));
    }
}

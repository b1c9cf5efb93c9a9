//! Writes what guests print and log as plain lines, `NAME | TEXT`, for the people who wrote them. No line
//! of the host begins so.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use wharf_report::{DIM, line};

use super::Screen;

/// What Rust prints after a panic. There are no backtraces in WebAssembly, whatever is set.
const BACKTRACE_NOTE: &str = "note: run with `RUST_BACKTRACE=1`";

/// The format of a log; `others` is that of the host's own events.
pub(super) struct GuestLines<F> {
    pub(super) others: F,
    /// Where guests may be muted.
    pub(super) screen: Option<Screen>,
}

impl<S, N, F> FormatEvent<S, N> for GuestLines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        if metadata.target().split(':').next() != Some("guest") {
            return self.others.format_event(context, writer, event);
        }
        if self.screen.as_ref().is_some_and(Screen::are_guests_muted) {
            return Ok(());
        }
        let mut printed = Printed::default();
        event.record(&mut printed);
        let Printed { plugin, source, message } = printed;
        let message = message.strip_prefix("guest: ").unwrap_or(&message);
        if message.starts_with(BACKTRACE_NOTE) {
            return Ok(());
        }
        let plugin = line(&plugin);
        if writer.has_ansi_escapes() {
            write!(writer, "{DIM}{plugin} |{DIM:#} ")?;
        } else {
            write!(writer, "{plugin} | ")?;
        }
        match source.as_str() {
            // What is printed has no level, nor has a stack, and a backtrace has the host's.
            "stdout" | "stderr" => {}
            _ if metadata.target() == "guest::stack" => {}
            "" if metadata.target() != "guest" => {}
            source => {
                match *metadata.level() {
                    Level::INFO => {}
                    Level::WARN => writer.write_str("warning: ")?,
                    level => write!(writer, "{}: ", level.as_str().to_ascii_lowercase())?,
                }
                // A logger of the guest.
                if !matches!(source, "" | "log") {
                    write!(writer, "{}: ", line(source))?;
                }
            }
        }
        writeln!(writer, "{}", line(message))
    }
}

/// The fields of a guest's message.
#[derive(Default)]
struct Printed {
    plugin: String,
    source: String,
    message: String,
}

impl Visit for Printed {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.set(field, format!("{value:?}"));
    }
}

impl Printed {
    fn set(&mut self, field: &Field, value: String) {
        match field.name() {
            "plugin" => self.plugin = value,
            "source" => self.source = value,
            "message" => self.message = value,
            _ => {}
        }
    }
}

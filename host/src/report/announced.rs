//! Lines that scripts read, such as the address of a server: as they are where the log is text, objects as all others
//! where it is JSON. No level hides them.

use std::fmt::{self, Debug};
use std::process::ExitCode;

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::Failure;

/// What shows these lines, whatever else the log shows.
pub(super) const DIRECTIVE: &str = "wharf::announced=trace";
const TARGET: &str = "wharf::announced";

/// Says what a server does from now on, on one line.
pub(crate) fn announce(text: &str) {
    tracing::info!(target: TARGET, "{text}");
}

/// Says why a server ends, and returns its exit code.
pub(crate) fn log_failure(failure: Failure) -> ExitCode {
    let code = failure.code;
    let (what, hint) = failure.into_parts();
    tracing::error!(target: TARGET, hint, "failed to {what}");
    ExitCode::from(code)
}

/// The format of a log as text; `others` is that of all other events.
pub(super) struct Announced<F> {
    pub(super) others: F,
}

impl<S, N, F> FormatEvent<S, N> for Announced<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if event.metadata().target() != TARGET {
            return self.others.format_event(context, writer, event);
        }
        let mut message = Message::default();
        event.record(&mut message);
        writeln!(writer, "{}", message.0)
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

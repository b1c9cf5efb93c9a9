//! The times in a log: complete where it is kept, of the day where a person reads along.

use std::fmt;

use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use wharf_report::time_of_day;

pub(super) enum Clock {
    Complete,
    OfDay,
}

impl FormatTime for Clock {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        match self {
            Self::Complete => SystemTime.format_time(writer),
            Self::OfDay => writer.write_str(&time_of_day(std::time::SystemTime::now())),
        }
    }
}

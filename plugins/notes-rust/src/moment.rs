//! The time in ISO 8601, without a library for calendars.

use std::time::{SystemTime, UNIX_EPOCH};

/// The present second, in UTC.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    iso(since.as_secs())
}

pub(crate) fn iso(unix: u64) -> String {
    let (days, second) = (unix / 86_400, unix % 86_400);
    // Days since 1 March of the year 0, so that leap days come last; in eras of 400 years.
    // After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let day = day - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

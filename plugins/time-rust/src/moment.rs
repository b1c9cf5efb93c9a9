//! Moments and time zones, read and written.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use wharf_plugin::*;

/// A moment on the clocks of a time zone.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Moment {
    /// RFC 3339, with the offset of that time zone.
    time: String,
    /// IANA time zone.
    zone: String,
    /// Monday to Sunday.
    weekday: String,
    /// Whether daylight saving time is in force.
    daylight_saving: bool,
    /// Seconds since 1970-01-01T00:00:00Z.
    unix: i64,
}

impl From<&Zoned> for Moment {
    fn from(zoned: &Zoned) -> Self {
        let zone = zoned.time_zone();
        Self {
            time: rfc3339(zoned),
            zone: zone.iana_name().unwrap_or("UTC").into(),
            weekday: format!("{:?}", zoned.weekday()),
            daylight_saving: zone.to_offset_info(zoned.timestamp()).dst().is_dst(),
            unix: zoned.timestamp().as_second(),
        }
    }
}

/// RFC 3339, to the second: nobody who asks for the time wants its nanoseconds.
pub(crate) fn rfc3339(zoned: &Zoned) -> String {
    let second = Timestamp::from_second(zoned.timestamp().as_second()).unwrap_or(zoned.timestamp());
    second.display_with_offset(zoned.offset()).to_string()
}

/// The time zone of that name, UTC without one.
pub(crate) fn zone(path: &str, name: Option<&str>) -> Result<TimeZone> {
    let Some(name) = name else {
        return Ok(TimeZone::UTC);
    };
    TimeZone::get(name)
        .map_err(|_| Error::invalid(path, format!("no such time zone; give an IANA name such as Europe/Paris: {name}")))
}

/// A moment with an offset of its own, or else on the clocks of `zone`.
pub(crate) fn parse(path: &str, text: &str, zone: &TimeZone) -> Result<Zoned> {
    let text = text.trim();
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Ok(zoned);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp.to_zoned(zone.clone()));
    }
    let civil: DateTime = text.parse().map_err(|_| {
        Error::invalid(path, format!("not a moment such as 2026-03-29T08:30 or 2026-03-29T08:30:00Z: {text}"))
    })?;
    Ok(civil.to_zoned(zone.clone())?)
}

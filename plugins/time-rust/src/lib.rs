//! Tools for time: clocks, time zones and schedules. The time zone database is built in.

mod moment;
mod schedule;
#[cfg(test)]
mod tests;

use jiff::{Unit, Zoned};
use moment::{Moment, parse, zone};
use wharf_plugin::*;

struct Time;

impl Plugin for Time {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add(
                "now",
                "Tells the current date and time, in UTC or in a time zone. \
                 Use it whenever an answer depends on what day or time it is.",
                now,
            )
            .title("Current time")
            .read_only()
            .idempotent(false);
        tools
            .add(
                "convert",
                "Tells what a moment is on the clocks of another time zone, daylight saving included.",
                convert,
            )
            .title("Convert between time zones")
            .read_only();
        tools
            .add(
                "difference",
                "Tells how long it is from one moment to another, in calendar units and in seconds.",
                difference,
            )
            .title("Time between moments")
            .read_only();
        tools
            .add(
                "next",
                "Tells when a cron expression fires next, in a time zone, daylight saving included. \
                 Use it to check or explain a schedule.",
                schedule::next,
            )
            .title("Next cron times")
            .read_only()
            .idempotent(false);
    }
}

export!(Time);

#[derive(Deserialize, JsonSchema)]
struct Now {
    /// IANA time zone such as Europe/Paris; UTC if absent.
    zone: Option<String>,
}

fn now(_: &Call, args: Now) -> Result<Json<Moment>> {
    let zone = zone("/zone", args.zone.as_deref())?;
    Ok(Json(Moment::from(&Zoned::now().with_time_zone(zone))))
}

#[derive(Deserialize, JsonSchema)]
struct Convert {
    /// The moment: 2026-03-29T08:30, with an offset or Z at the end if it has one.
    time: String,
    /// IANA time zone of `time`, if it has no offset of its own; UTC if absent.
    from: Option<String>,
    /// IANA time zone that is wanted, such as America/New_York.
    to: String,
}

#[derive(Serialize, JsonSchema)]
struct Converted {
    /// The moment where it comes from.
    from: Moment,
    /// The same moment where it is wanted.
    to: Moment,
}

fn convert(_: &Call, args: Convert) -> Result<Json<Converted>> {
    let from = parse("/time", &args.time, &zone("/from", args.from.as_deref())?)?;
    let to = from.with_time_zone(zone("/to", Some(&args.to))?);
    Ok(Json(Converted { from: Moment::from(&from), to: Moment::from(&to) }))
}

#[derive(Deserialize, JsonSchema)]
struct Difference {
    /// The first moment: 2026-01-31, 2026-01-31T08:30, or with an offset or Z at the end.
    start: String,
    /// The second moment; if it is earlier, the difference is negative.
    end: String,
    /// IANA time zone of moments without an offset, and of the calendar; UTC if absent.
    zone: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Between {
    /// ISO 8601 duration in calendar units, such as P1Y2M3DT4H.
    duration: String,
    /// The same for people, such as `1 year, 2 months, 3 days, 4 hours`.
    text: String,
    /// The whole of it in seconds.
    seconds: f64,
    /// The whole of it in days of 24 hours.
    days: f64,
}

fn difference(_: &Call, args: Difference) -> Result<Json<Between>> {
    let zone = zone("/zone", args.zone.as_deref())?;
    let start = parse("/start", &args.start, &zone)?.with_time_zone(zone.clone());
    let end = parse("/end", &args.end, &zone)?.with_time_zone(zone);
    let span = start.until((Unit::Year, &end))?;
    let seconds = start.duration_until(&end).as_secs_f64();
    let printer = jiff::fmt::friendly::SpanPrinter::new()
        .designator(jiff::fmt::friendly::Designator::Verbose)
        .spacing(jiff::fmt::friendly::Spacing::BetweenUnitsAndDesignators)
        .comma_after_designator(true)
        .direction(jiff::fmt::friendly::Direction::Sign);
    Ok(Json(Between {
        duration: span.to_string(),
        text: printer.span_to_string(&span),
        seconds,
        days: seconds / 86_400.0,
    }))
}

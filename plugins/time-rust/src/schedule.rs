//! Cron schedules.

use croner::parser::{CronParser, Seconds};
use jiff::Zoned;
use wharf_plugin::*;

use crate::moment::{parse, rfc3339, zone};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Next {
    /// Five fields (minute, hour, day of month, month, day of week) or six with seconds
    /// first; names such as MON, steps such as */15, L, W, # and @daily are known.
    cron: String,
    /// IANA time zone of the schedule; UTC if absent.
    zone: Option<String>,
    /// How many times to tell, 1 to 100.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 100))]
    count: usize,
    /// From when on, that moment not included: 2026-03-29T08:30; now if absent.
    after: Option<String>,
}

fn five() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Schedule {
    /// The schedule in words.
    description: String,
    /// IANA time zone of the schedule.
    zone: String,
    /// When it fires, soonest first, in RFC 3339; fewer than wanted if it ends.
    times: Vec<String>,
}

pub(crate) fn next(_: &Call, args: Next) -> Result<Json<Schedule>> {
    if !(1..=100).contains(&args.count) {
        return Err(Error::invalid("/count", "must be from 1 to 100"));
    }
    let cron = CronParser::builder()
        .seconds(Seconds::Optional)
        .build()
        .parse(&args.cron)
        .map_err(|error| Error::invalid("/cron", error.to_string()))?;
    let zone = zone("/zone", args.zone.as_deref())?;
    let after = match args.after {
        Some(after) => parse("/after", &after, &zone)?.with_time_zone(zone.clone()),
        None => Zoned::now().with_time_zone(zone.clone()),
    };
    let times: Vec<_> = cron.iter_after(after).take(args.count).map(|time| rfc3339(&time)).collect();
    if times.is_empty() {
        return Err(Error::invalid("/cron", format!("never fires: {}", args.cron)));
    }
    Ok(Json(Schedule { description: cron.describe(), zone: zone.iana_name().unwrap_or("UTC").into(), times }))
}

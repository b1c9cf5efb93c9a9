//! Bounds of what is kept, and what readers are told.

use std::time::Duration;

use super::hour::{Hour, MAX_PLUGINS, OTHER, STEPS};
use super::recent::{MAX_BYTES, MAX_RECORDS, Recent};
use super::*;

fn call(plugin: &str, tool: &str) -> Record {
    Record {
        plugin: Some(plugin.to_owned()),
        tool: Some(tool.to_owned()),
        code: Some("ok"),
        took: Some(Duration::from_micros(5)),
        ..Record::new(Event::Call)
    }
}

#[test]
fn a_reader_gets_each_record_once_or_is_told_how_many_it_missed() {
    let activity = Activity::begin();
    for _ in 0..3 {
        activity.observe(&call("one", "a"));
    }
    let first = activity.since(0, 10);
    assert_eq!((first.next, first.skipped, first.records.len()), (3, 0, 3));
    assert_eq!(activity.since(first.next, 10), Batch { next: 3, skipped: 0, records: Vec::new() });
    for _ in 0..MAX_RECORDS + 7 {
        activity.observe(&call("one", "a"));
    }
    let all = activity.since(first.next, usize::MAX);
    assert_eq!((all.skipped, all.records.len()), (7, MAX_RECORDS));
    let few = activity.since(first.next, 50);
    assert_eq!((few.skipped, few.records.len()), (MAX_RECORDS as u64 + 7 - 50, 50));
    assert_eq!(activity.since(u64::MAX, 50).records.len(), 0, "a number that is not reached yet");
}

#[test]
fn the_records_have_bounded_bytes_together() {
    let mut recent = Recent::default();
    let long = "x".repeat(4096);
    for _ in 0..MAX_RECORDS {
        recent.push(&call("one", &long));
    }
    let kept = recent.since(0, usize::MAX).records;
    let bytes: usize = kept.iter().map(String::len).sum();
    assert!(bytes > MAX_BYTES / 2 && bytes <= MAX_BYTES + 2 * 8192, "{bytes}");
}

#[test]
fn an_hour_has_as_many_steps_and_forgets_what_is_older() {
    let mut hour = Hour::default();
    hour.count(Duration::ZERO, &call("one", "a"), false);
    let sum = |hour: &Hour, now: u64| -> u64 {
        let figures = hour.to_json(Duration::from_secs(now));
        figures["calls"].as_array().map_or(0, |calls| calls.iter().filter_map(Value::as_u64).sum())
    };
    assert_eq!(sum(&hour, 0), 1);
    assert_eq!(sum(&hour, 3599), 1);
    assert_eq!(sum(&hour, 3600), 0);
    hour.count(Duration::from_secs(3605), &call("one", "a"), true);
    assert_eq!(sum(&hour, 3605), 1, "the slot is used again");
    let figures = hour.to_json(Duration::from_secs(3605));
    assert_eq!(figures["calls"].as_array().map(Vec::len), Some(STEPS));
    assert_eq!(figures["errors"][STEPS - 1], 1);
}

#[test]
fn only_so_many_plugins_have_totals_of_their_own() {
    let mut hour = Hour::default();
    for number in 0..MAX_PLUGINS + 5 {
        hour.count(Duration::ZERO, &call(&format!("p{number}"), "a"), false);
    }
    let totals = hour.totals();
    assert_eq!(totals.len(), MAX_PLUGINS + 1);
    let other = totals.iter().find(|(name, _)| name == OTHER).map(|(_, totals)| totals.calls);
    assert_eq!(other, Some(5));
}

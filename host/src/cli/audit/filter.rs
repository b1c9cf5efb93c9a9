//! Which records are shown.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Map, Value};

use crate::report::Failure;

#[derive(Args)]
pub(super) struct FilterOptions {
    /// Only since then: a time ago, such as 30m, 1h or 7days, or a date in UTC, such as 2026-07-28 or
    /// 2026-07-28T08:00:00
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only of this user: the name of a token, ISSUER#SUBJECT, or local
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only of this plugin
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Only of this tool, prompt or URI
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only with this outcome, such as ok, forbidden or unauthorized
    #[arg(long)]
    code: Option<String>,
    /// Only of this kind, such as call, fault, refuse or load
    #[arg(long)]
    event: Option<String>,
    /// Only what this rule of [rights] allowed or denied
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
    /// Only calls of users who had these extra grants or limits
    #[arg(long, value_name = "NAME")]
    extra: Option<String>,
    /// Only of this trace: the traceparent of its requests, or the 32 digits in it
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
    /// Only what a person decided: user or operator
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
    /// Only what was done through this: page
    #[arg(long, value_name = "WHAT")]
    via: Option<String>,
}

/// The id of a trace, also out of a `traceparent`.
fn trace_id(text: &str) -> Result<String, Failure> {
    let id = text.split('-').nth(1).unwrap_or(text).to_ascii_lowercase();
    if id.len() == 32 && id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(id);
    }
    let failure = Failure::usage(format!("look for the trace {text:?}, which is none"));
    Err(failure.hint("write the traceparent of a request, or the 32 hexadecimal digits in it".to_owned()))
}

pub(super) struct Filter {
    since: Option<SystemTime>,
    /// Members and the values that they must have.
    wanted: Vec<(&'static str, String)>,
}

impl FilterOptions {
    /// # Errors
    /// If the time is none.
    pub(super) fn filter(self) -> Result<Filter, Failure> {
        let since = self.since.map(|text| time(&text, SystemTime::now())).transpose()?;
        let wanted = [
            ("principal", self.principal),
            ("plugin", self.plugin),
            ("tool", self.tool),
            ("code", self.code),
            ("event", self.event),
            ("rule", self.rule),
            ("extra", self.extra),
            ("trace", self.trace.as_deref().map(trace_id).transpose()?),
            ("by", self.by),
            ("via", self.via),
        ];
        let wanted = wanted.into_iter().filter_map(|(member, value)| Some((member, value?))).collect();
        Ok(Filter { since, wanted })
    }
}

impl Filter {
    /// What has no time, or not that member, is left out.
    pub(super) fn accepts(&self, record: &Map<String, Value>) -> bool {
        let text = |member: &str| record.get(member).and_then(Value::as_str);
        let is_recent = self.since.is_none_or(|since| {
            let at = text("ts").and_then(|text| humantime::parse_rfc3339(text).ok());
            at.is_some_and(|at| at >= since)
        });
        // A call may have several extras.
        let is = |member: &str, found: &str, value: &str| {
            found == value || member == "extra" && found.split(", ").any(|name| name == value)
        };
        let has = |member: &str, value: &str| text(member).is_some_and(|found| is(member, found, value));
        is_recent && self.wanted.iter().all(|(member, value)| has(member, value))
    }
}

/// A time ago, or a date.
fn time(text: &str, now: SystemTime) -> Result<SystemTime, Failure> {
    let day = format!("{text}T00:00:00Z");
    let date = || humantime::parse_rfc3339_weak(text).or_else(|_| humantime::parse_rfc3339(&day)).ok();
    let ago = || humantime::parse_duration(text).ok().map(|ago| now.checked_sub(ago).unwrap_or(UNIX_EPOCH));
    ago().or_else(date).ok_or_else(|| {
        Failure::usage(format!("read the time of --since: neither a time ago nor a date: {text:?}"))
            .hint("write 30m, 1h or 7days, or, in UTC, 2026-07-28 or 2026-07-28T08:00:00".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::json;

    use super::{Filter, time};

    #[test]
    fn times_are_ago_or_dates() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let seconds = |text: &str| {
            let at = time(text, now).ok()?;
            Some(at.duration_since(UNIX_EPOCH).expect("after 1970").as_secs())
        };
        assert_eq!(seconds("1h"), Some(1_000_000 - 3600));
        assert!(time("1000years", now).is_ok_and(|at| at < UNIX_EPOCH));
        assert_eq!(seconds("1970-01-02"), Some(86_400));
        for second in ["1970-01-02T00:00:01Z", "1970-01-02T00:00:01", "1970-01-02 00:00:01"] {
            assert_eq!(seconds(second), Some(86_401), "{second}");
        }
        for wrong in ["", "yesterday", "1", "1970-13-01", "99999999999999999999h"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn all_that_is_given_must_hold() {
        let wanted = vec![("tool", "a".to_owned()), ("code", "ok".to_owned())];
        let filter = Filter { since: Some(UNIX_EPOCH + Duration::from_secs(1)), wanted };
        let accepts = |record: serde_json::Value| filter.accepts(record.as_object().expect("an object"));
        let at = "1970-01-01T00:00:01.000000Z";
        assert!(accepts(json!({"ts": at, "tool": "a", "code": "ok", "new": [1]})));
        for other in [
            json!({"ts": "1970-01-01T00:00:00.999999Z", "tool": "a", "code": "ok"}),
            json!({"tool": "a", "code": "ok"}),
            json!({"ts": 1, "tool": "a", "code": "ok"}),
            json!({"ts": at, "tool": "ab", "code": "ok"}),
            json!({"ts": at, "tool": ["a"], "code": "ok"}),
            json!({"ts": at, "tool": "a"}),
        ] {
            assert!(!accepts(other.clone()), "{other}");
        }
        let of = |extra: &str| Filter { since: None, wanted: vec![("extra", extra.to_owned())] };
        let record = json!({"extra": "writers, the build job"});
        let record = record.as_object().expect("an object");
        assert!(["writers", "the build job"].into_iter().all(|extra| of(extra).accepts(record)));
        assert!(!["", "write", "job"].into_iter().any(|extra| of(extra).accepts(record)));
    }
}

//! The trace that a request belongs to, so that the log and the audit log can be found by it.
//!
//! Source: MCP 2026-07-28, basic, "_meta", which reserves the key for W3C Trace Context, section 3.2
//! ("traceparent Header"). It is read in requests of all revisions: clients send it in older ones too.

use std::borrow::Cow;

use super::keys::TRACEPARENT;
use crate::json;

/// Bytes of a `traceparent` of version 00: version, trace, parent and flags, with `-` between them.
const LENGTH: usize = 55;
/// Maximum bytes: later versions may add members, which are not read.
const MAX_LENGTH: usize = 256;

/// The id of the trace in a request's `_meta`, 32 hexadecimal digits; `None` if there is none, or it is not valid.
/// `meta` is what a plugin gets: a JSON object with plain names.
pub fn id_of(meta: &str) -> Option<String> {
    // Most requests have none: nothing is parsed for them.
    memchr::memmem::find(meta.as_bytes(), TRACEPARENT.as_bytes())?;
    let [value] = json::members(meta, [TRACEPARENT]).ok()?;
    let text: Cow<'_, str> = json::string(value?)?;
    id(&text).map(str::to_owned)
}

/// The id of the trace in a `traceparent`, if that is valid.
fn id(text: &str) -> Option<&str> {
    let (known, more) = text.split_at_checked(LENGTH)?;
    let mut parts = known.split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let has_form = is_hex(version, 2) && is_hex(trace, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    // What follows in a later version begins with a `-`; version 255 is forbidden.
    let may_follow = version != "00" && more.starts_with('-') && text.len() <= MAX_LENGTH;
    let is_zero = |id: &str| id.bytes().all(|digit| digit == b'0');
    let is_valid =
        has_form && version != "ff" && (more.is_empty() || may_follow) && !is_zero(trace) && !is_zero(parent);
    is_valid.then_some(trace)
}

/// Whether it has so many hexadecimal digits, in lower case.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::{MAX_LENGTH, id, id_of};

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    fn of(version: &str, more: &str) -> String {
        format!("{version}-{TRACE}-{PARENT}-01{more}")
    }

    #[test]
    fn the_version_decides_what_may_follow() {
        let longest = "-".repeat(MAX_LENGTH - of("01", "").len());
        for (version, more) in
            [("00", ""), ("01", ""), ("01", "-"), ("cc", "-what the future will be"), ("fe", &longest)]
        {
            assert_eq!(id(&of(version, more)), Some(TRACE), "{version} {more:?}");
        }
        let too_long = format!("{longest}-");
        for (version, more) in [
            ("00", "-"),
            ("00", "-01"),
            ("01", "x"),
            ("01", "1"),
            ("ff", ""),
            ("fe", &too_long),
            ("0", ""),
            ("000", ""),
            ("0A", ""),
        ] {
            assert_eq!(id(&of(version, more)), None, "{version} {more:?}");
        }
    }

    #[test]
    fn each_part_has_its_length_and_digits_in_lower_case() {
        let (zero_trace, zero_parent) = ("0".repeat(32), "0".repeat(16));
        let (low_trace, low_parent) = (format!("{}1", "0".repeat(31)), format!("{}1", "0".repeat(15)));
        assert_eq!(id(&format!("00-{low_trace}-{low_parent}-00")), Some(low_trace.as_str()));
        for wrong in [
            String::new(),
            format!("00-{zero_trace}-{PARENT}-01"),
            format!("00-{TRACE}-{zero_parent}-01"),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", PARENT.to_uppercase()),
            format!("00-{TRACE}-{PARENT}-0F"),
            format!("00-{TRACE}-{PARENT}-0"),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{TRACE}0-{}-01", &PARENT[1..]),
            format!("00-{}-{PARENT}0-01", &TRACE[1..]),
            format!("00 {TRACE} {PARENT} 01"),
            format!(" 00-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-01 "),
            format!("00-{}ä-{PARENT}-01", &TRACE[2..]),
            format!("00-{TRACE}-{PARENT}-ä"),
            format!("01-{TRACE}-{PARENT}-0ä"),
        ] {
            assert_eq!(id(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn it_is_a_string_of_that_name() {
        let valid = of("00", "");
        for (meta, expected) in [
            (format!(r#"{{"a":1,"traceparent":"{valid}","b":2}}"#), Some(TRACE)),
            (format!(r#"{{"traceparent":"\u0030{}"}}"#, &valid[1..]), Some(TRACE)),
            (format!(r#"{{"traceparents":"{valid}"}}"#), None),
            (format!(r#"{{"a":{{"traceparent":"{valid}"}}}}"#), None),
            (format!(r#"{{"traceparent":["{valid}"]}}"#), None),
            (format!(r#"{{"traceparent":"{valid}","traceparent":"{valid}"}}"#), None),
            (r#"{"traceparent":1}"#.to_owned(), None),
            (r#"{"traceparent":null}"#.to_owned(), None),
            ("{}".to_owned(), None),
        ] {
            assert_eq!(id_of(&meta).as_deref(), expected, "{meta}");
        }
    }
}

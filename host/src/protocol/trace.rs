//! The trace that a request belongs to, so that the log, the audit log and traces can be found by it.
//!
//! Source: MCP 2026-07-28, basic, "_meta", which reserves the key for W3C Trace Context. It is read in requests of all
//! revisions: clients send it in older ones too.

use std::borrow::Cow;

use super::keys::TRACEPARENT;
use crate::json;
use crate::traces::TraceParent;

/// The parent in a request's `_meta`; `None` if there is none, or it is not valid. `meta` is what a plugin gets: a JSON
/// object with plain names.
pub fn parent_of(meta: &str) -> Option<TraceParent> {
    // Most requests have none: nothing is parsed for them.
    memchr::memmem::find(meta.as_bytes(), TRACEPARENT.as_bytes())?;
    let [value] = json::members(meta, [TRACEPARENT]).ok()?;
    let text: Cow<'_, str> = json::string(value?)?;
    TraceParent::parse(&text)
}

#[cfg(test)]
mod tests {
    use super::parent_of;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn it_is_a_string_of_that_name() {
        let valid = format!("00-{TRACE}-00f067aa0ba902b7-01");
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
            assert_eq!(parent_of(&meta).map(|parent| parent.trace_id()).as_deref(), expected, "{meta}");
        }
    }
}

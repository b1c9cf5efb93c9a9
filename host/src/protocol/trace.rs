//! The trace that a request belongs to, so that the log, the audit log and traces can be found by it.
//!
//! Source: MCP 2026-07-28, basic, "_meta", which reserves the key for W3C Trace Context. It is read in requests of all
//! revisions: clients send it in older ones too.

use std::borrow::Cow;

use super::keys::{TRACEPARENT, TRACESTATE};
use crate::json;
use crate::traces::TraceParent;

/// The parent in a request's `_meta`; `None` if there is none, or it is not valid. `meta` is what a plugin gets: a JSON
/// object with plain names.
pub fn parent_of(meta: &str) -> Option<TraceParent> {
    // Most requests have none: nothing is parsed for them.
    memchr::memmem::find(meta.as_bytes(), TRACEPARENT.as_bytes())?;
    let meta = json::Object::read(meta).ok()?;
    let [parent] = meta.members([TRACEPARENT]).ok()?;
    let text: Cow<'_, str> = json::string(parent?)?;
    let parent = TraceParent::parse(&text)?;
    // One that is not valid is as none (W3C Trace Context, section 4.3).
    let [state] = meta.members([TRACESTATE]).unwrap_or_default();
    Some(match state.and_then(json::string) {
        Some(state) => parent.with_state(&state),
        None => parent,
    })
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
            (format!(r#"{{"traceparent":"{valid}","tracestate":"a=1","tracestate":"a=1"}}"#), Some(TRACE)),
            (r#"{"traceparent":1}"#.to_owned(), None),
            (r#"{"traceparent":null}"#.to_owned(), None),
            ("{}".to_owned(), None),
        ] {
            assert_eq!(parent_of(&meta).map(|parent| parent.trace_id()).as_deref(), expected, "{meta}");
        }
    }

    #[test]
    fn a_state_goes_with_a_valid_parent_only() {
        let valid = format!("00-{TRACE}-00f067aa0ba902b7-01");
        for (parent, state, expected) in [
            (&*valid, r#""a=1, b=2""#, Some("a=1,b=2")),
            (&valid, r#""A=1""#, None),
            (&valid, "1", None),
            ("00-0-0-0", r#""a=1""#, None),
        ] {
            let meta = format!(r#"{{"traceparent":"{parent}","tracestate":{state}}}"#);
            let found = parent_of(&meta).and_then(|parent| parent.state);
            assert_eq!(found.as_ref().map(|state| state.as_str()), expected, "{meta}");
        }
    }
}

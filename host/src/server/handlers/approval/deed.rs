//! What a person is asked about: a call, as a decision is bound to it, and as it is shown.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use crate::approvals::{Bound, Deed};
use crate::audit::Record;
use crate::catalog::Entry;
use crate::identity::Identity;
use crate::json;
use crate::plugin::FrozenTool;
use crate::server::seal::canonical;
use crate::text::quote;

/// Maximum characters of arguments that are shown, and of one text in longer ones: it must not push what comes after it
/// out of sight.
const SHOWN: usize = 1000;
const SHOWN_OF_TEXT: usize = 120;

/// The call of a tool by a principal. Takes time in proportion to the arguments.
pub(super) fn deed(identity: &Identity, entry: &Entry<FrozenTool>, arguments: &str) -> Deed {
    let principal = identity.name();
    // Without blanks, which could push what matters out of what is shown.
    let equal = canonical(arguments);
    let bound = Bound {
        caller: principal,
        plugin: entry.provider.id().as_ref(),
        version: &entry.provider.digest().to_string(),
        extras: &entry.provider.extras(identity).join(", "),
        tool: &entry.item().tool.name,
        arguments: &equal,
    };
    Deed::new(bound, Record::capped_name(principal).to_string(), shown(&shortened(&equal)), arguments)
        .named(entry.name.as_str())
}

/// Arguments that are too long as they are, with their long texts cut.
fn shortened(arguments: &str) -> Cow<'_, str> {
    let tree = if arguments.len() > SHOWN { json::tree(arguments, json::MAX_DEPTH).ok() } else { None };
    let Some(mut tree) = tree else { return arguments.into() };
    cut_texts(&mut tree);
    json::canonical(&tree).into()
}

/// Recursion is bounded by the depth of what was parsed.
fn cut_texts(tree: &mut Value) {
    match tree {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(SHOWN_OF_TEXT) {
                let more = text[end..].chars().count();
                *text = format!("{}…({more} more)", &text[..end]);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(cut_texts),
        Value::Object(members) => members.values_mut().for_each(cut_texts),
        _ => {}
    }
}

/// Arguments on one line, hidden characters escaped; if they are cut, without the rest of an escape.
fn shown(arguments: &str) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for c in arguments.chars() {
        let escaped = quote(c.encode_utf8(&mut [0; 4]), usize::MAX);
        length += escaped.chars().count();
        if length > SHOWN {
            shown.push('…');
            break;
        }
        shown += &escaped;
    }
    shown
}

/// The question to the user of a client. `holds`: how long the answer is for all calls of the tool; zero: for this one.
pub(super) fn question(deed: &Deed, holds: Duration) -> String {
    let Deed { by, plugin, extras, name, arguments, bytes, digest, .. } = deed;
    let [by, tool] = [by, name].map(|text| quote(text, usize::MAX));
    let whole = if arguments.contains('…') {
        format!("\n(These are not all: as they were sent, they have {bytes} bytes and the BLAKE3 hash {digest}.)")
    } else {
        String::new()
    };
    let binds = if holds.is_zero() {
        "If you accept, it runs once.".to_owned()
    } else {
        format!(
            "If you accept, it runs, and for {} this version of the plugin may run this tool for {by} with any \
             arguments, without asking again.",
            humantime::format_duration(holds)
        )
    };
    let extras = match extras.as_str() {
        "" => String::new(),
        names => format!("\nExtra grants and limits: {}", quote(names, usize::MAX)),
    };
    format!("Run the tool {tool} of the plugin {plugin} for {by}?{extras}\nArguments: {arguments}{whole}\n{binds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_shown_up_to_the_limit_and_escaped() {
        let text = "x".repeat(SHOWN);
        assert_eq!(shown(&text), text);
        assert_eq!(shown(&format!("{text}y")), format!("{text}…"));
        assert_eq!(shown("\u{202e}\n\u{1b}a"), "\\u{202e}\\n\\u{1b}a");
        let hidden = shown(&"\u{e0001}".repeat(SHOWN));
        assert!(hidden.len() <= SHOWN + '…'.len_utf8() && hidden.ends_with("}…"), "{hidden}");
    }

    #[test]
    fn a_long_text_hides_nothing_after_it() {
        let arguments = format!(r#"{{"aaa":"{}","id":"7","list":["{}"]}}"#, "x".repeat(5000), "ä".repeat(200));
        let short = shown(&shortened(&arguments));
        assert!(short.contains(r#"…(4880 more)","id":"7","list":["#) && short.ends_with("…(80 more)\"]}"), "{short}");
        let exact = r#"{"id":"7"}"#;
        assert_eq!(shortened(exact), exact);
        assert_eq!(shortened(&"x".repeat(2000)), "x".repeat(2000), "no JSON");
    }

    #[test]
    fn a_question_says_what_runs_for_whom_and_for_how_long() {
        let deed = |arguments: &str| {
            let bound = Bound { caller: "ci", plugin: "notes", version: "0", extras: "", tool: "delete", arguments };
            Deed::new(bound, "ci".into(), shown(arguments), arguments)
        };
        let once = question(&deed(r#"{"id":"1"}"#), Duration::ZERO);
        assert_eq!(
            once,
            "Run the tool delete of the plugin notes for ci?\nArguments: {\"id\":\"1\"}\nIf you accept, it runs once."
        );
        let long = format!(r#"{{"id":"{}"}}"#, "1".repeat(SHOWN));
        let first = question(&deed(&long), Duration::from_secs(8 * 60 * 60));
        let hash = blake3::hash(long.as_bytes()).to_hex();
        assert!(first.contains(&format!("they have 1009 bytes and the BLAKE3 hash {hash}")), "{first}");
        assert!(first.contains("for 8h this version") && first.contains("with any arguments"), "{first}");
    }
}

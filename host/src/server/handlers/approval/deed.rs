//! What a person is asked about: a call, as a decision is bound to it, and as it is shown.

use std::sync::Arc;
use std::time::Duration;

use crate::approvals::{Bound, Deed};
use crate::audit::Record;
use crate::catalog::Entry;
use crate::plugin::FrozenTool;
use crate::plugin::text::quote;
use crate::server::seal::canonical;

/// Maximum characters of arguments that are shown.
const SHOWN: usize = 1000;

/// The call of a tool by a principal. Takes time in proportion to the arguments.
pub(super) fn deed(principal: &Arc<str>, entry: &Entry<FrozenTool>, arguments: &str) -> Deed {
    // Without blanks, which could push what matters out of what is shown.
    let equal = canonical(arguments);
    let bound = Bound {
        caller: principal,
        plugin: entry.provider.id().as_ref(),
        version: &entry.provider.digest().to_string(),
        tool: &entry.item().tool.name,
        arguments: &equal,
    };
    Deed::new(bound, Record::capped_name(principal).to_string(), shown(&equal), arguments)
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
    let Deed { by, plugin, tool, arguments, bytes, digest, .. } = deed;
    let [by, tool] = [by, tool].map(|text| quote(text, usize::MAX));
    let whole = if arguments.ends_with('…') {
        format!("\n(The first {SHOWN} characters of {bytes} bytes with the BLAKE3 hash {digest}.)")
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
    format!("Run the tool {tool} of the plugin {plugin} for {by}?\nArguments: {arguments}{whole}\n{binds}")
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
    fn a_question_says_what_runs_for_whom_and_for_how_long() {
        let deed = |arguments: &str| {
            let bound = Bound { caller: "ci", plugin: "notes", version: "0", tool: "delete", arguments };
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
        assert!(first.contains(&format!("of 1009 bytes with the BLAKE3 hash {hash}")), "{first}");
        assert!(first.contains("for 8h this version") && first.contains("with any arguments"), "{first}");
    }
}

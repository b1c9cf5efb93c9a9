//! Records as rows of a table.

use std::time::Duration;

use serde_json::{Map, Value};
use wharf_report::{DIM, ERROR, GOOD, Style, WARNING, column};

use crate::text::quote;

const COLUMNS: usize = 7;
const HEADING: [&str; COLUMNS] = ["time", "principal", "request", "plugin/tool", "outcome", "took", "rule or reason"];
/// Maximum characters of a cell; of longer ones the middle is left out.
const MAX_CELL: usize = 60;
/// Maximum bytes of a cell with its escapes.
const MAX_SHOWN: usize = 10 * MAX_CELL;

/// The widths of columns so far: a log is too long to know them all before the first row is shown.
#[derive(Default)]
pub(super) struct Table {
    widths: Option<[usize; COLUMNS]>,
}

pub(super) struct Row {
    cells: [String; COLUMNS],
    style: Style,
}

impl Table {
    /// The text of some rows, the first ones below a heading.
    pub(super) fn text(&mut self, rows: &[Row]) -> String {
        let heading = self.widths.is_none().then(|| Row { cells: HEADING.map(str::to_owned), style: DIM });
        let shown: Vec<&Row> = heading.iter().chain(rows).collect();
        let mut widths = self.widths.unwrap_or_default();
        for (at, width) in widths.iter_mut().enumerate() {
            *width = (*width).max(column(shown.iter().map(|row| row.cells[at].as_str())));
        }
        self.widths = Some(widths);
        let is_heading = |row: &Row| heading.as_ref().is_some_and(|heading| std::ptr::eq(heading, row));
        shown.iter().map(|row| row.line(&widths, is_heading(row))).collect()
    }
}

impl Row {
    /// Of a record, which anything of this user may have written.
    pub(super) fn of(record: &Map<String, Value>) -> Self {
        let text = |member: &str| record.get(member).and_then(Value::as_str);
        let number = |member: &str| record.get(member).and_then(Value::as_u64).filter(|number| *number > 0);
        let time = text("ts").map(|ts| ts.get(..19).map_or_else(|| ts.to_owned(), |seconds| format!("{seconds}Z")));
        let target: Vec<&str> = [text("plugin"), text("tool")].into_iter().flatten().collect();
        let by = text("by").map(|by| format!("by the {by}"));
        let via = text("via").map(|via| format!("on the {via}"));
        let extra = text("extra").map(|names| format!("with {names}"));
        let reasons = [text("rule"), extra.as_deref(), by.as_deref(), via.as_deref(), text("access"), text("reason")];
        let reasons = reasons.map(|text| text.map(cell));
        let counts = [("count", "lost"), ("refused", "refused"), ("omitted", "omitted")]
            .map(|(member, word)| number(member).map(|count| format!("{count} {word}")));
        let reasons: Vec<String> = reasons.into_iter().chain(counts).flatten().collect();
        let took = number("dur_us").map(|took| format!("{:.1?}", Duration::from_micros(took)));
        let style = match (text("event"), text("code")) {
            (Some("fault"), _) => ERROR,
            (_, Some("ok" | "asks" | "allowed")) => GOOD,
            (Some("deny" | "refuse"), _) | (_, Some("forbidden" | "declined" | "denied")) => WARNING,
            _ => Style::new(),
        };
        let cells = [
            time.as_deref().map(cell),
            text("principal").or(text("peer")).map(cell),
            text("method").or(text("event")).map(cell),
            Some(cell(&target.join("/"))),
            text("code").map(cell),
            took,
            Some(reasons.join(", ")),
        ];
        let cells = cells.map(|cell| cell.filter(|cell| !cell.is_empty()).unwrap_or_else(|| "-".to_owned()));
        Self { cells, style }
    }

    /// A whole row has its style if it is the heading, otherwise its outcome.
    fn line(&self, widths: &[usize; COLUMNS], whole: bool) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in self.cells.iter().zip(widths).enumerate() {
            // Nothing is behind the last one.
            let width = if at + 1 == COLUMNS { 0 } else { *width };
            let style = if whole || at == 4 { self.style } else { Style::new() };
            let gap = if at == 0 { "" } else { "  " };
            line += &format!("{gap}{style}{cell:<width$}{style:#}");
        }
        line.push('\n');
        line
    }
}

/// A text on one line, of which the beginning and the end are left if it is long.
fn cell(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_CELL {
        return quote(text, MAX_SHOWN);
    }
    let half = MAX_CELL / 2;
    let start: String = text.chars().take(half - 1).collect();
    let end: String = text.chars().skip(length - half).collect();
    quote(&format!("{start}…{end}"), MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_CELL, MAX_SHOWN, Row, Table, cell};

    fn row(record: &Value) -> Vec<String> {
        Row::of(record.as_object().expect("an object")).cells.to_vec()
    }

    #[test]
    fn a_row_has_what_a_record_has() {
        let call = json!({
            "ts": "2026-07-28T08:00:00.123456Z", "event": "call", "plugin": "echo", "principal": "ci",
            "method": "tools/call", "tool": "echo_add", "dur_us": 1234, "code": "ok", "rule": "all", "new": {},
        });
        assert_eq!(row(&call), ["2026-07-28T08:00:00Z", "ci", "tools/call", "echo/echo_add", "ok", "1.2ms", "all"]);
        let decided = json!({"event": "decide", "plugin": "echo", "tool": "add", "code": "allowed", "by": "operator"});
        assert_eq!(row(&decided), ["-", "-", "decide", "echo/add", "allowed", "-", "by the operator"]);
        let refused = json!({"event": "refuse", "peer": "192.0.2.1", "code": "unauthorized", "omitted": 3});
        assert_eq!(row(&refused), ["-", "192.0.2.1", "refuse", "-", "unauthorized", "-", "3 omitted"]);
        let rejected = json!({"event": "reject", "plugin": "a", "reason": "no\ncomponent", "refused": 0});
        assert_eq!(row(&rejected), ["-", "-", "reject", "a", "-", "-", "no\\ncomponent"]);
        assert_eq!(row(&json!({"ts": 1, "tool": [], "dur_us": "x", "event": null})), ["-"; 7]);
    }

    #[test]
    fn cells_are_short_and_control_nothing() {
        assert_eq!(cell(&"x".repeat(MAX_CELL)).len(), MAX_CELL);
        let long = format!("a{}z", "x".repeat(MAX_CELL - 1));
        let shown = cell(&long);
        assert!(shown.chars().count() == MAX_CELL && shown.starts_with('a') && shown.ends_with('z'), "{shown}");
        let hidden = cell(&"\u{1b}\u{202e}\n".repeat(1000));
        assert!(!hidden.contains(['\u{1b}', '\u{202e}', '\n']) && hidden.len() <= MAX_SHOWN + 16, "{hidden}");
    }

    #[test]
    fn columns_are_aligned_and_only_grow() {
        let mut table = Table::default();
        let rows = |principals: &[&str]| -> Vec<Row> {
            principals.iter().map(|name| Row::of(json!({"principal": name}).as_object().expect("one"))).collect()
        };
        // Where the last cell is.
        let columns = |text: &str| text.lines().map(|line| line.rfind('-').expect("a cell")).collect::<Vec<_>>();
        let first = table.text(&rows(&["a", "a-longer-principal"]));
        assert!(first.contains("principal") && first.contains("took"), "{first}");
        let at = columns(first.split_once('\n').expect("rows").1);
        assert_eq!(at[0], at[1]);
        let next = table.text(&rows(&["b", "c"]));
        assert!(!next.contains("took"), "{next}");
        assert_eq!(columns(&next), at);
    }
}

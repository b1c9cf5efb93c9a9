//! What is shown of an interval: some lines about the server, and a table.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use wharf_report::{DIM, ERROR, NAME, Style, WARNING, columns as columns_of, cut};

use super::By;
use super::columns::{Column, bytes, number};
use super::reading::{Interval, Reading, Total};
use super::rows::{Row, rows};
use super::server::ServerState;
use crate::cli::json_text::indented;
use crate::text::{escape_hidden_in_json, quote};

/// Columns of a name, if there is room for more.
const MAX_NAME: usize = 60;
/// Columns that a name keeps while others have to go.
const LEAST_NAME: usize = 16;
/// Between two columns.
const GAP: usize = 2;
/// Budgets that are named.
const BUDGETS: usize = 3;
/// Maximum bytes of a version and of a budget's name.
const MAX_TEXT: usize = 60;

pub(super) struct View {
    by: By,
    sort: Column,
    source: String,
    server: Option<ServerState>,
    /// `None`: there is one reading only.
    interval: Option<Interval>,
    rows: Vec<Row>,
}

impl View {
    pub(super) fn of(by: By, sort: Column, source: String, before: Option<&Reading>, now: &Reading) -> Self {
        let interval = before.map(|before| now.since(before));
        let rows = interval.as_ref().map(|interval| rows(interval, by, sort)).unwrap_or_default();
        Self { by, sort, source, server: now.server.clone(), interval, rows }
    }

    /// All of it, with lines of at most `width` columns.
    pub(super) fn to_text(&self, width: Option<usize>) -> String {
        let lines = self.header(width).into_iter().chain([String::new()]).chain(self.table(width, usize::MAX));
        lines.map(|line| line + "\n").collect()
    }

    /// As many lines as there is room for, and the number of rows that are left out.
    pub(super) fn to_lines(&self, width: usize, height: usize) -> (Vec<String>, usize) {
        let mut lines = self.header(Some(width));
        // The table is what it is for.
        lines.truncate((height / 3).max(1));
        lines.push(String::new());
        let room = height.saturating_sub(lines.len() + 1);
        lines.extend(self.table(Some(width), room));
        lines.truncate(height);
        (lines, self.rows.len().saturating_sub(room))
    }

    fn seconds(&self) -> f64 {
        self.interval.as_ref().map_or(0.0, |interval| interval.took.as_secs_f64())
    }

    fn calls(&self) -> f64 {
        self.rows.iter().map(|row| row.counts.get(Total::Calls)).sum()
    }

    fn cpu_percent(&self) -> Option<f64> {
        let interval = self.interval.as_ref().filter(|interval| !interval.took.is_zero())?;
        Some(interval.cpu / interval.took.as_secs_f64() * 100.0)
    }

    fn header(&self, width: Option<usize>) -> Vec<String> {
        let mut facts = Vec::new();
        match &self.server {
            Some(server) => facts.push(format!("wharf {}", quote(&server.version, MAX_TEXT))),
            None => facts.push(format!("audit log {}", self.source)),
        }
        match &self.interval {
            Some(_) if self.seconds() > 0.0 => facts.push(format!("{} calls/s", number(self.calls() / self.seconds()))),
            _ => facts.push("rates come with the next reading".to_owned()),
        }
        if self.interval.as_ref().is_some_and(|interval| interval.restarted) {
            facts.push("it was started again".to_owned());
        }
        if let Some(server) = &self.server {
            facts.extend([
                format!("{:.0} running", server.running),
                format!("{:.0} waiting", server.waiting),
                counted(server.plugins, "plugin"),
                format!("guests {}", bytes(server.guest_memory)),
            ]);
            let cpu = self.cpu_percent().map(|percent| format!("{}% cpu, ", number(percent))).unwrap_or_default();
            facts.push(format!("process {cpu}{}", bytes(server.memory)));
            let open = server.open.iter().filter(|(_, count)| *count > 0.0);
            facts.extend(open.map(|(kind, count)| counted(*count, &quote(kind, MAX_TEXT))));
            facts.extend(server.budgets.iter().take(BUDGETS).map(|budget| {
                let (name, resource) = (quote(&budget.budget, MAX_TEXT), quote(&budget.resource, MAX_TEXT));
                format!("budget {name}: {:.0}% of {resource} left", budget.left * 100.0)
            }));
        }
        packed(&facts, width)
    }

    /// The heading and that many rows.
    fn table(&self, width: Option<usize>, rows: usize) -> Vec<String> {
        let seconds = self.seconds();
        let rows: Vec<BTreeMap<usize, String>> = self.rows.iter().take(rows).map(|row| row.cells(seconds)).collect();
        let heading = |column: Column| match column == self.sort {
            true if column == Column::Name => format!("{}↑", self.title(column)),
            true => format!("{}↓", self.title(column)),
            false => self.title(column).to_owned(),
        };
        let widths = Column::ALL.map(|column| {
            let cells = rows.iter().filter_map(|cells| cells.get(&(column as usize)));
            cells.map(|cell| columns_of(cell)).chain([columns_of(&heading(column))]).max().unwrap_or_default()
        });
        let (name, shown) = fitting(&widths, width, self.sort);
        let line = |cell: &dyn Fn(Column) -> (String, Style)| {
            let (text, style) = cell(Column::Name);
            let text = cut(&text, name);
            let blanks = if shown.is_empty() { 0 } else { name - columns_of(&text) };
            let mut line = format!("{style}{text}{style:#}{:blanks$}", "");
            for column in &shown {
                let (text, style) = cell(*column);
                let blanks = GAP + widths[*column as usize] - columns_of(&text);
                line += &format!("{:blanks$}{style}{text}{style:#}", "");
            }
            line
        };
        let mut lines = vec![line(&|column| (heading(column), if column == self.sort { NAME } else { DIM }))];
        lines.extend(self.rows.iter().zip(&rows).map(|(row, cells)| {
            line(&|column| (cells.get(&(column as usize)).cloned().unwrap_or_default(), row.style(column)))
        }));
        lines
    }

    fn title(&self, column: Column) -> &'static str {
        match (column, self.by) {
            (Column::Name, By::Plugin) => "plugin",
            (Column::Name, By::Tool) => "plugin/tool",
            (Column::Name, By::Subject) => "user",
            _ => column.titles().0,
        }
    }

    pub(super) fn to_json(&self) -> String {
        let seconds = self.seconds();
        let rows = self.rows.iter().map(|row| row.to_json(self.by, seconds));
        let server = self.server.as_ref().map(|server| {
            let open = server.open.iter().map(|(kind, count)| (kind.clone(), whole(*count)));
            let budgets = server
                .budgets
                .iter()
                .map(|budget| json!({ "budget": budget.budget, "resource": budget.resource, "left": budget.left }));
            json!({
                "version": server.version,
                "callsRunning": whole(server.running),
                "callsWaiting": whole(server.waiting),
                "plugins": whole(server.plugins),
                "guestMemoryBytes": whole(server.guest_memory),
                "processMemoryBytes": whole(server.memory),
                "processCpuPercent": self.cpu_percent(),
                "open": open.collect::<Map<_, _>>(),
                "budgets": budgets.collect::<Vec<_>>(),
            })
        });
        let all = json!({
            "source": self.source,
            "seconds": seconds,
            "restarted": self.interval.as_ref().is_some_and(|interval| interval.restarted),
            "callsPerSecond": if seconds > 0.0 { Some(self.calls() / seconds) } else { None },
            "server": server,
            "rows": rows.collect::<Vec<_>>(),
        });
        indented(&escape_hidden_in_json(&all.to_string()))
    }
}

impl Row {
    /// By their columns.
    fn cells(&self, seconds: f64) -> BTreeMap<usize, String> {
        let values = Column::ALL.into_iter().skip(1);
        let cells = values.map(|column| (column as usize, column.shown(column.value(&self.counts, seconds))));
        cells.chain([(Column::Name as usize, cut(&self.name(), MAX_NAME))]).collect()
    }

    fn style(&self, column: Column) -> Style {
        let has = |total: Total| self.counts.get(total) > 0.0;
        match column {
            Column::Name => NAME,
            Column::Errors if has(Total::Errors) => WARNING,
            Column::Faults if has(Total::Faults) => ERROR,
            _ => Style::new(),
        }
    }

    fn to_json(&self, by: By, seconds: f64) -> Value {
        let (name, tool) = &self.key;
        let mut row = Map::new();
        match by {
            By::Plugin => drop(row.insert("plugin".to_owned(), json!(name))),
            By::Tool => {
                row.insert("plugin".to_owned(), json!(name));
                row.insert("tool".to_owned(), json!(tool));
            }
            By::Subject => drop(row.insert("subject".to_owned(), json!(name))),
        }
        for column in Column::ALL.into_iter().skip(1) {
            let value = column.value(&self.counts, seconds);
            let value = if column == Column::Memory { value.map(whole) } else { value.map(Value::from) };
            row.insert(column.titles().1.to_owned(), json!(value));
        }
        Value::Object(row)
    }
}

/// The columns of a name, and the other columns that fit: without the last ones, but with that by which the rows are
/// sorted.
fn fitting(widths: &[usize], width: Option<usize>, sort: Column) -> (usize, Vec<Column>) {
    let name = widths[Column::Name as usize];
    let mut shown: Vec<Column> = Column::ALL.into_iter().skip(1).collect();
    let Some(width) = width else { return (name, shown) };
    let taken = |shown: &[Column]| shown.iter().map(|column| GAP + widths[*column as usize]).sum::<usize>();
    while !shown.is_empty() && name.min(LEAST_NAME) + taken(&shown) > width {
        let last = shown.iter().rposition(|column| *column != sort).unwrap_or_default();
        shown.remove(last);
    }
    (name.min(width - taken(&shown)), shown)
}

/// So many things.
fn counted(count: f64, what: &str) -> String {
    let plural = if count == 1.0 { "" } else { "s" };
    format!("{count:.0} {what}{plural}")
}

/// A number of bytes or things, which has no fraction.
fn whole(number: f64) -> Value {
    json!(number as u64)
}

/// Facts on lines of at most that many columns; one that is longer is cut.
pub(super) fn packed(facts: &[String], width: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for fact in facts {
        let fact = width.map_or_else(|| fact.clone(), |width| cut(fact, width));
        match lines.last_mut() {
            Some(line) if width.is_none_or(|width| columns_of(line) + 2 + columns_of(&fact) <= width) => {
                *line += &format!("  {fact}");
            }
            _ => lines.push(fact),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use wharf_report::columns as columns_of;

    use super::{By, Column, Reading, ServerState, View};
    use crate::cli::top::reading::{Counts, Total};
    use crate::cli::top::server::BudgetState;

    fn reading(at: Instant, calls: f64, names: &[&str]) -> Reading {
        let counts = names.iter().map(|name| {
            let mut counts = Counts::default();
            counts.add(Total::Calls, calls);
            counts.add(Total::Faults, calls);
            counts.used_memory(70_000.0);
            (((*name).to_owned(), "tool".to_owned()), counts)
        });
        let budgets = vec![BudgetState { budget: "few".to_owned(), resource: "calls".to_owned(), left: 0.2 }];
        let open = vec![("session".to_owned(), 2.0), ("stream".to_owned(), 0.0)];
        let server = ServerState {
            version: "1.2.3".to_owned(),
            cpu: calls,
            plugins: 2.0,
            open,
            budgets,
            ..ServerState::default()
        };
        Reading { at, counts: counts.collect(), server: Some(server) }
    }

    fn view(by: By, sort: Column) -> View {
        let start = Instant::now();
        let names =
            ["one", "日本語\u{1b}[2J", "a-plugin-with-a-very-long-name-that-no-narrow-terminal-has-room-for-at-all"];
        let (before, now) = (reading(start, 0.0, &names), reading(start + Duration::from_secs(2), 8.0, &names));
        View::of(by, sort, "http://x/metrics".to_owned(), Some(&before), &now)
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_wide_table_has_all_columns_and_the_header_what_the_server_says() {
        let text = plain(&view(By::Plugin, Column::Calls).to_text(None));
        let (header, table) = text.split_once("\n\n").expect("two parts");
        let facts = ["wharf 1.2.3", "12.0 calls/s", "process 400% cpu", "2 sessions", "budget few: 20% of calls left"];
        assert!(facts.iter().all(|fact| header.contains(fact)) && !header.contains("stream"), "{header}");
        let heading = table.lines().next().expect("a heading");
        for column in Column::ALL.into_iter().skip(1) {
            assert!(heading.contains(column.titles().0), "{heading}");
        }
        assert!(heading.starts_with("plugin ") && heading.contains("calls/s↓"), "{heading}");
        assert_eq!(table.lines().count(), 4);
        assert!(table.contains("日本語\\u{1b}[2J") && table.contains("70.0kB"), "{table}");
    }

    #[test]
    fn a_narrow_terminal_has_fewer_columns_and_whole_lines() {
        for sort in [Column::Calls, Column::Memory, Column::Name] {
            for width in 1..200 {
                let text = plain(&view(By::Tool, sort).to_text(Some(width)));
                let (_, table) = text.split_once("\n\n").expect("two parts");
                assert!(text.lines().all(|line| columns_of(line) <= width), "{width}: {text}");
                assert_eq!(table.lines().count(), 4, "{width}: {text}");
                if width >= 40 && sort != Column::Name {
                    assert!(table.contains(&format!("{}↓", sort.titles().0)), "{width}: {text}");
                    assert!(width > 80 || !table.contains("queue"), "{width}: {text}");
                }
            }
        }
    }

    #[test]
    fn a_low_terminal_has_fewer_rows() {
        let view = view(By::Plugin, Column::Name);
        let (all, left_out) = view.to_lines(300, 50);
        assert_eq!((all.len(), left_out), (6, 0));
        let (some, left_out) = view.to_lines(300, 4);
        assert_eq!((some.len(), left_out), (4, 2));
        // A header of several lines leaves room.
        let (narrow, left_out) = view.to_lines(30, 6);
        assert_eq!((narrow.len(), left_out), (6, 1));
        assert_eq!(view.to_lines(300, 1).0.len(), 1);
    }

    #[test]
    fn one_reading_has_no_rates() {
        let first = reading(Instant::now(), 3.0, &["one"]);
        let view = View::of(By::Plugin, Column::Cpu, String::new(), None, &first);
        let text = plain(&view.to_text(Some(100)));
        assert!(text.contains("rates come with the next reading") && !text.contains("one"), "{text}");
        assert!(plain(&view.to_json()).contains("\"callsPerSecond\": null"), "{}", view.to_json());
    }
}

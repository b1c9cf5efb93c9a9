//! The rows of the table: what is counted together, and in which order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::By;
use super::columns::Column;
use super::reading::{Counts, Interval, Key};
use crate::text::quote;

/// Maximum bytes of a name that is shown.
const MAX_NAME: usize = 200;

pub(super) struct Row {
    pub(super) key: Key,
    pub(super) counts: Counts,
}

impl Row {
    /// Its name on one line, whatever a plugin or a user is called.
    pub(super) fn name(&self) -> String {
        let (plugin, tool) = &self.key;
        match (plugin.as_str(), tool.as_str()) {
            ("", _) => "-".to_owned(),
            (name, "") => quote(name, MAX_NAME),
            (plugin, tool) => quote(&format!("{plugin}/{tool}"), MAX_NAME),
        }
    }
}

/// The rows of an interval, the greatest value first, or by name.
pub(super) fn rows(interval: &Interval, by: By, sort: Column) -> Vec<Row> {
    let mut grouped: BTreeMap<Key, Counts> = BTreeMap::new();
    for ((name, tool), counts) in &interval.counts {
        let tool = if by == By::Tool { tool.clone() } else { String::new() };
        grouped.entry((name.clone(), tool)).or_default().add_all(counts);
    }
    if by == By::Tool {
        // Of a plugin as a whole its memory is counted; a row of it is for calls of something else than tools.
        grouped.retain(|(_, tool), counts| {
            counts.memory = None;
            !tool.is_empty() || *counts != Counts::default()
        });
    }
    let seconds = interval.took.as_secs_f64();
    let mut rows: Vec<Row> = grouped.into_iter().map(|(key, counts)| Row { key, counts }).collect();
    // It keeps the order of names among equals.
    rows.sort_by(|one, other| {
        let [one, other] = [one, other].map(|row| sort.value(&row.counts, seconds));
        match (one, other) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => other.is_some().cmp(&one.is_some()),
        }
        .then(Ordering::Equal)
    });
    rows
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{By, Column, Counts, Interval, Row, rows};
    use crate::cli::top::reading::Total;

    fn interval() -> Interval {
        let of = |plugin: &str, tool: &str, calls: f64, cpu: f64| {
            let mut counts = Counts::default();
            counts.add(Total::Calls, calls);
            counts.add(Total::Cpu, cpu);
            if tool.is_empty() {
                counts.used_memory(100.0);
            }
            ((plugin.to_owned(), tool.to_owned()), counts)
        };
        let counts = [
            of("a", "", 0.0, 0.0),
            of("a", "x", 5.0, 1.0),
            of("a", "y", 3.0, 9.0),
            of("b", "z", 7.0, 2.0),
            of("c", "idle", 0.0, 0.0),
            of("c", "", 1.0, 0.0),
        ];
        Interval { took: Duration::from_secs(1), counts: counts.into(), restarted: false, cpu: 0.0 }
    }

    fn names(by: By, sort: Column) -> Vec<String> {
        rows(&interval(), by, sort).iter().map(Row::name).collect()
    }

    #[test]
    fn rows_are_of_plugins_or_of_tools() {
        let of_plugins = rows(&interval(), By::Plugin, Column::Name);
        assert_eq!(of_plugins.iter().map(Row::name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((of_plugins[0].counts.get(Total::Calls), of_plugins[0].counts.memory), (8.0, Some(100.0)));
        assert_eq!(names(By::Tool, Column::Name), ["a/x", "a/y", "b/z", "c", "c/idle"]);
        assert!(rows(&interval(), By::Tool, Column::Name).iter().all(|row| row.counts.memory.is_none()));
    }

    #[test]
    fn the_greatest_is_first_and_what_has_no_value_last() {
        assert_eq!(names(By::Tool, Column::Calls), ["b/z", "a/x", "a/y", "c", "c/idle"]);
        assert_eq!(names(By::Tool, Column::Cpu)[0], "a/y");
        assert_eq!(names(By::Plugin, Column::Cpu), ["a", "b", "c"]);
        assert_eq!(names(By::Tool, Column::CpuPerCall), ["a/y", "b/z", "a/x", "c", "c/idle"]);
    }

    #[test]
    fn names_control_nothing() {
        let row = |plugin: &str, tool: &str| {
            Row { key: (plugin.to_owned(), tool.to_owned()), counts: Counts::default() }.name()
        };
        assert_eq!(row("a\n", "\u{1b}[2J\u{202e}"), "a\\n/\\u{1b}[2J\\u{202e}");
        assert_eq!((row("", "x"), row("a", "")), ("-".to_owned(), "a".to_owned()));
        assert!(row(&"x".repeat(9999), "").len() < 300);
    }
}

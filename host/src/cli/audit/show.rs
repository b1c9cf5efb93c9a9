//! `wharf audit show`: the records of the log, some of them.
//!
//! A log may have gigabytes: one line after the other is read, and of the last ones only their places are kept.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};
use wharf_report::{hint, print_more, warning};

use super::configured_files;
use super::filter::FilterOptions;
use super::lines::LogLines;
use super::table::{Row, Table};
use crate::cli::options::Options;
use crate::cli::wrapped;
use crate::json;
use crate::report::{self, Failure};
use crate::text::escape_hidden_in_json;

/// Maximum records of `--last`.
const MAX_LAST: i64 = 100_000;
/// Rows that are shown at once, whose columns are aligned with each other.
const ROWS: usize = 256;
/// Bytes of lines that are shown at once.
const LINES: usize = 64 << 10;

#[derive(Args)]
pub(in crate::cli) struct ShowOptions {
    /// Log files, the oldest first [default: the configured log and its rotated files]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    filter: FilterOptions,
    /// Only the last so many of these
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MAX_LAST))]
    last: Option<u32>,
    /// Print the lines as they are in the log, with all their members
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, show: ShowOptions) -> Result<ExitCode, Failure> {
    let filter = show.filter.filter()?;
    let (files, verify) = if show.files.is_empty() {
        (configured_files(options)?, format!("{} audit verify", options.program()))
    } else {
        (show.files, "wharf audit verify FILE".to_owned())
    };
    let mut lines = LogLines::open(files)?;
    let mut output = if show.json { Output::Lines(String::new()) } else { Output::Table(Table::default(), Vec::new()) };
    let (mut line, mut last, mut shown, mut others) = (Vec::new(), VecDeque::new(), 0_u64, 0_u64);
    while let Some(place) = lines.read_next(&mut line)? {
        let Some((text, record)) = record(&line) else {
            others += 1;
            continue;
        };
        if !filter.accepts(&record) {
            continue;
        }
        shown += 1;
        if let Some(count) = show.last {
            if last.len() == count as usize {
                last.pop_front();
            }
            last.push_back(place);
        } else if !output.put(text, &record)? {
            return Ok(ExitCode::SUCCESS);
        }
    }
    for place in last {
        lines.read_at(place, &mut line)?;
        // Another process may have changed it.
        if let Some((text, record)) = record(&line)
            && !output.put(text, &record)?
        {
            return Ok(ExitCode::SUCCESS);
        }
    }
    if !output.flush()? {
        return Ok(ExitCode::SUCCESS);
    }
    if shown == 0 {
        report::message("no records");
    }
    if others > 0 {
        let (lines, are) = if others == 1 { ("line", "is no record") } else { ("lines", "are no records") };
        warning(&format!("left out {others} {lines} of the audit log that {are}"));
        hint(Some(&format!("to find what was changed: {verify}")));
    }
    Ok(ExitCode::SUCCESS)
}

/// The record of a line; `None` if it is something else.
fn record(line: &[u8]) -> Option<(&str, Map<String, Value>)> {
    let text = std::str::from_utf8(line).ok()?;
    match json::tree(text, json::MAX_DEPTH) {
        Ok(Value::Object(record)) => Some((text, record)),
        _ => None,
    }
}

/// Collects what is shown at once.
enum Output {
    Table(Table, Vec<Row>),
    Lines(String),
}

impl Output {
    /// Returns whether there is still a reader.
    fn put(&mut self, text: &str, record: &Map<String, Value>) -> Result<bool, Failure> {
        let is_full = match self {
            Self::Table(_, rows) => {
                rows.push(Row::of(record));
                rows.len() >= ROWS
            }
            Self::Lines(lines) => {
                *lines += &escape_hidden_in_json(text);
                lines.push('\n');
                lines.len() >= LINES
            }
        };
        if is_full { self.flush() } else { Ok(true) }
    }

    /// As [`Self::put`].
    fn flush(&mut self) -> Result<bool, Failure> {
        let text = match self {
            Self::Table(_, rows) if rows.is_empty() => return Ok(true),
            Self::Table(table, rows) => wrapped::for_stdout(&table.text(&std::mem::take(rows))),
            Self::Lines(lines) if lines.is_empty() => return Ok(true),
            Self::Lines(lines) => std::mem::take(lines),
        };
        print_more(&text)
    }
}

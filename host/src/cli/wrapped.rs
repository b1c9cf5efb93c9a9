//! Texts whose long lines are broken at blanks if they go to a terminal.

use std::io;

use wharf_report::wrap;

use crate::os::terminal;

pub(super) fn for_stdout(text: &str) -> String {
    at(text, terminal::width(io::stdout()))
}

pub(super) fn for_stderr(text: &str) -> String {
    at(text, terminal::width(io::stderr()))
}

fn at(text: &str, width: Option<usize>) -> String {
    width.map_or_else(|| text.to_owned(), |width| wrap(text, width))
}

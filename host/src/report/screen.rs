//! The log of a command, on the screen that shows its progress too.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;
use wharf_report::Screen;

/// The writer of such a log.
pub(super) struct OnScreen(pub(super) Screen);

/// Writes one event, which arrives in one call.
pub(super) struct Line<'a>(&'a Screen);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_lines(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for OnScreen {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(&self.0)
    }
}

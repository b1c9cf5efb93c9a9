//! A server's log: written to stderr by a dedicated thread, so that nothing blocks on its reader.
//!
//! Many clients start servers with a pipe for stderr and never read it. Lines that do not fit the
//! buffer are dropped and counted.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// Buffer size in bytes.
const ROOM: usize = 1 << 20;
/// How long shutdown waits for a reader.
const LAST: Duration = Duration::from_millis(500);

/// The log. Copies share it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    dropped: u64,
    started: bool,
    /// The thread has taken lines and not written them yet.
    writing: bool,
    closing: bool,
}

impl Log {
    /// Starts the thread. Earlier lines are buffered until then.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(&self) -> io::Result<()> {
        let shared = self.0.clone();
        thread::Builder::new().name("log".to_owned()).spawn(move || while shared.write() {})?;
        self.0.waiting().started = true;
        Ok(())
    }

    /// Flushes the buffer, for half a second at most.
    pub(crate) fn finish(&self) {
        let mut waiting = self.0.waiting();
        waiting.closing = true;
        if !waiting.started {
            drop(waiting);
            self.0.write();
            return;
        }
        self.0.changed.notify_all();
        let unwritten = |waiting: &mut Waiting| waiting.writing || !waiting.lines.is_empty();
        drop(self.0.changed.wait_timeout_while(waiting, LAST, unwritten));
    }
}

impl Shared {
    fn put(&self, line: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.lines.len() + line.len() > ROOM {
            waiting.dropped += 1;
            return;
        }
        waiting.lines.extend_from_slice(line);
        drop(waiting);
        self.changed.notify_all();
    }

    /// Writes the buffered lines; returns whether more can follow.
    fn write(&self) -> bool {
        let nothing = |waiting: &mut Waiting| waiting.lines.is_empty() && !waiting.closing;
        let mut waiting = self.changed.wait_while(self.waiting(), nothing).unwrap_or_else(PoisonError::into_inner);
        let mut lines = std::mem::take(&mut waiting.lines);
        let dropped = std::mem::take(&mut waiting.dropped);
        waiting.writing = true;
        drop(waiting);
        if dropped > 0 {
            lines.extend_from_slice(format!("{dropped} log lines dropped: stderr is not read\n").as_bytes());
        }
        // A reader that is gone needs none.
        let _ = io::stderr().write_all(&lines);
        let mut waiting = self.waiting();
        waiting.writing = false;
        let more = !(waiting.closing && waiting.lines.is_empty());
        drop(waiting);
        self.changed.notify_all();
        more
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes one line, which is written in one piece.
pub(crate) struct Line<'a>(&'a Shared);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.put(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Log, ROOM};

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let log = Log::default();
        let line = [b'x'; 1000];
        let fit = ROOM / line.len();
        for _ in 0..fit + 7 {
            log.0.put(&line);
        }
        let waiting = log.0.waiting();
        assert_eq!((waiting.lines.len(), waiting.dropped), (fit * line.len(), 7));
    }
}

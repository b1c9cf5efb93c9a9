//! A server's log: written to stderr by a dedicated thread, so that nothing blocks on its reader.
//!
//! Many clients start servers with a pipe for stderr and never read it. Lines that do not fit the
//! buffer are dropped and counted.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use tracing_subscriber::fmt::MakeWriter;

use crate::sync::lock;

/// Bytes.
const BUFFER_CAPACITY: usize = 1 << 20;
/// How long shutdown waits for the buffer to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// The log. Clones share it.
#[derive(Clone)]
pub(crate) struct Log(Arc<Shared>);

struct Shared {
    /// Its lines are JSON objects.
    is_json: bool,
    buffer: Mutex<Buffer>,
    changed: Condvar,
}

#[derive(Default)]
struct Buffer {
    lines: Vec<u8>,
    dropped: u64,
    started: bool,
    /// The thread has taken lines and not written them yet.
    writing: bool,
    closing: bool,
}

impl Log {
    pub(crate) fn new(is_json: bool) -> Self {
        Self(Arc::new(Shared { is_json, buffer: Mutex::default(), changed: Condvar::new() }))
    }

    /// Starts the thread. Earlier lines are buffered until then.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(&self) -> io::Result<()> {
        let shared = self.0.clone();
        thread::Builder::new().name("log".to_owned()).spawn(move || while shared.write() {})?;
        self.0.lock().started = true;
        Ok(())
    }

    /// Flushes the buffer, for half a second at most.
    pub(crate) fn finish(&self) {
        let mut buffer = self.0.lock();
        buffer.closing = true;
        if !buffer.started {
            drop(buffer);
            self.0.write();
            return;
        }
        self.0.changed.notify_all();
        let unwritten = |buffer: &mut Buffer| buffer.writing || !buffer.lines.is_empty();
        drop(self.0.changed.wait_timeout_while(buffer, FLUSH_TIMEOUT, unwritten));
    }
}

impl Shared {
    fn push(&self, line: &[u8]) {
        let mut buffer = self.lock();
        if buffer.lines.len() + line.len() > BUFFER_CAPACITY {
            buffer.dropped += 1;
            return;
        }
        buffer.lines.extend_from_slice(line);
        drop(buffer);
        self.changed.notify_all();
    }

    /// Writes the buffered lines; returns whether more can follow.
    fn write(&self) -> bool {
        let is_idle = |buffer: &mut Buffer| buffer.lines.is_empty() && !buffer.closing;
        let mut buffer = self.changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        let mut lines = std::mem::take(&mut buffer.lines);
        let dropped = std::mem::take(&mut buffer.dropped);
        buffer.writing = true;
        drop(buffer);
        if dropped > 0 {
            lines.extend_from_slice(self.dropped(dropped).as_bytes());
        }
        // Fails if the reader is gone; there is nowhere to report it.
        let _ = io::stderr().write_all(&lines);
        let mut buffer = self.lock();
        buffer.writing = false;
        let more = !(buffer.closing && buffer.lines.is_empty());
        drop(buffer);
        self.changed.notify_all();
        more
    }

    /// The line that says how many are missing.
    fn dropped(&self, count: u64) -> String {
        let message = format!("{count} log lines dropped: stderr is not read");
        if !self.is_json {
            return format!("{message}\n");
        }
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        format!("{{\"timestamp\":\"{now}\",\"level\":\"WARN\",\"message\":\"{message}\"}}\n")
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.buffer)
    }
}

/// Writes one line, which arrives in one call.
pub(crate) struct Line<'a>(&'a Shared);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
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
    use super::{BUFFER_CAPACITY, Log};

    #[test]
    fn lines_over_the_capacity_are_dropped_and_counted() {
        let log = Log::new(true);
        let line = [b'x'; 1000];
        let fit = BUFFER_CAPACITY / line.len();
        for _ in 0..fit + 7 {
            log.0.push(&line);
        }
        let buffer = log.0.lock();
        assert_eq!((buffer.lines.len(), buffer.dropped), (fit * line.len(), 7));
        let told = log.0.dropped(7);
        assert!(told.starts_with("{\"timestamp\":\"2"), "{told}");
        assert!(told.ends_with("\"message\":\"7 log lines dropped: stderr is not read\"}\n"), "{told}");
        assert_eq!(Log::new(false).0.dropped(7), "7 log lines dropped: stderr is not read\n");
    }
}

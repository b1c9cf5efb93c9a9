//! The one thread that writes the log.
//!
//! What it cannot write it counts, and says so in the log when it can write again. Of a log that
//! must be there it keeps what it could not write, and tries again.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use super::file::LogFile;
use super::line;
use super::queue::{Queue, RETRY};
use crate::os::process::lower_thread_priority;

/// Bytes that are written together, and by which a file may be larger than it should.
const BATCH: usize = 64 << 10;
/// Between two looks: whoever records must not wake the thread each time.
const PAUSE: Duration = Duration::from_millis(5);

/// The thread, for whoever ends it.
pub struct Writer {
    queue: Arc<Queue>,
    /// Says at the end how many records could not be written.
    ended: Receiver<u64>,
}

impl Writer {
    pub(super) fn start(file: LogFile, queue: Arc<Queue>) -> io::Result<Self> {
        let (end, ended) = std::sync::mpsc::channel();
        let thread = Thread { file, queue: queue.clone(), lost: 0, refused: 0, failing: false };
        thread::Builder::new().name("wharf-audit".into()).spawn(move || {
            let lost = thread.run();
            // Nobody may be waiting.
            let _ = end.send(lost);
        })?;
        Ok(Self { queue, ended })
    }

    /// Writes what is in the queue, if that takes no longer. Whether all of it is in the file.
    pub fn close(self, patience: Duration) -> bool {
        self.queue.close();
        match self.ended.recv_timeout(patience) {
            Ok(0) => true,
            Ok(lost) => {
                tracing::error!(lost, "the end of the audit log could not be written");
                false
            }
            Err(_) => {
                tracing::warn!("timed out writing the end of the audit log");
                false
            }
        }
    }
}

impl Drop for Writer {
    /// Without [`Writer::close`] nobody waits for what is in the queue.
    fn drop(&mut self) {
        self.queue.close();
    }
}

struct Thread {
    file: LogFile,
    queue: Arc<Queue>,
    /// Records that are not in the file, of which it does not say so yet.
    lost: u64,
    /// Calls that were not made for want of a record, of which it does not say so yet.
    refused: u64,
    failing: bool,
}

impl Thread {
    /// Gives how many records could not be written in the end.
    fn run(mut self) -> u64 {
        let required = self.queue.is_required();
        // Whoever serves a call goes before the record of another: with less weight there is still
        // more time for records than they need. Where that cannot be had, calls wait a little more
        // often. Where answers wait for it, it goes before nobody and behind nobody.
        if !required {
            lower_thread_priority();
        }
        let mut lines = Vec::new();
        loop {
            let taken = self.queue.take(&mut lines);
            self.lost += taken.dropped;
            self.refused += taken.refused;
            let mut done = self.write_all(&lines);
            while required && done < lines.len() {
                self.queue.wrote(None, true);
                let closing = taken.last || self.queue.pause(RETRY);
                done += self.write_all(&lines[done..]);
                if closing {
                    break;
                }
            }
            self.lost += each(&lines[done..]).count() as u64;
            let unsaid = self.lost + self.refused > 0 && (lines.is_empty() || taken.last);
            if unsaid || (required && lines.is_empty()) {
                self.write(&[]);
            }
            let whole = done == lines.len();
            self.queue.wrote(whole.then_some(taken.put), self.failing);
            if taken.last {
                return self.lost;
            }
            lines.clear();
            // A burst is over some time.
            lines.shrink_to(BATCH);
            if !required {
                self.queue.pause(PAUSE);
            }
        }
    }

    /// Writes lines in batches; how many bytes of them are in the file.
    fn write_all(&mut self, lines: &[u8]) -> usize {
        let mut done = 0;
        while done < lines.len() {
            let rest = &lines[done..];
            let end = memchr::memchr(b'\n', &rest[rest.len().min(BATCH) - 1..]);
            let end = end.map_or(rest.len(), |at| rest.len().min(BATCH) + at);
            if !self.write(&rest[..end]) {
                if self.queue.is_required() {
                    return done;
                }
                self.lost += each(&rest[..end]).count() as u64;
            }
            done += end;
        }
        done
    }

    /// Appends a batch, and what is to be said before it; whether that went well.
    fn write(&mut self, batch: &[u8]) -> bool {
        // Where room is reserved, that is looked for first: a record of each attempt would fill what
        // little is left.
        let looks = batch.is_empty() && self.failing && self.queue.is_required();
        let (lost, refused) = (&mut self.lost, self.refused);
        let written = self.file.append(|link, bytes, found| {
            // At least the one of the line that was cut off.
            *lost += u64::from(found.cut);
            if let Some(altered) = &found.altered {
                line::place(&line::render_altered(altered), link, bytes);
            }
            if !looks && *lost + refused > 0 {
                line::place(&line::render_lost(*lost, refused), link, bytes);
            }
            for rendered in each(batch) {
                line::place(rendered, link, bytes);
            }
        });
        let room = match &written {
            Ok(()) => self.file.reserve(),
            Err(_) => Ok(()),
        };
        if written.is_ok() && !looks {
            (self.lost, self.refused) = (0, 0);
        }
        let failure = written.as_ref().err().or(room.as_ref().err());
        let failed = std::mem::replace(&mut self.failing, failure.is_some());
        match failure {
            Some(error) if !failed && self.queue.is_required() => {
                tracing::error!("calls are refused until they can be audited: failed to {error}");
            }
            Some(error) if !failed => tracing::error!("calls go on without audit: failed to {error}"),
            None if failed => tracing::warn!("audit log working again"),
            _ => {}
        }
        if looks && !self.failing {
            return self.write(&[]);
        }
        written.is_ok()
    }
}

/// The lines of a batch, without their ends.
fn each(batch: &[u8]) -> impl Iterator<Item = &[u8]> {
    batch.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end)
}

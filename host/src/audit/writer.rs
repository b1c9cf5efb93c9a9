//! The thread that writes the log.
//!
//! Records that cannot be written are counted, and the count is recorded when writing works again. A
//! required log keeps them instead, and retries.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use super::file::LogFile;
use super::line;
use super::queue::{Queue, RETRY_INTERVAL};
use crate::os::process::lower_thread_priority;

/// Bytes written at once; a file may exceed its maximum size by as much.
const BATCH_SIZE: usize = 64 << 10;
/// How long another process may hold the lock, where calls wait for their records: they are refused after
/// it.
const WAITED_FOR_TIMEOUT: Duration = Duration::from_secs(1);
/// The same where nothing waits: records are lost after it. Meanwhile the queue keeps the next ones. On a
/// busy machine, a process with a lower priority or a slow disk may hold the lock for seconds.
const UNWAITED_FOR_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between batches, so that callers do not wake the thread for each record.
const PAUSE: Duration = Duration::from_millis(5);

/// The handle of the writer's thread.
pub struct AuditWriter {
    queue: Arc<Queue>,
    /// Receives the number of lost records when the thread ends.
    ended: Receiver<u64>,
}

impl AuditWriter {
    pub(super) fn start(file: LogFile, queue: Arc<Queue>) -> io::Result<Self> {
        let (end, ended) = std::sync::mpsc::channel();
        let thread = Thread { file, queue: queue.clone(), lost: 0, refused: 0, failing: false };
        thread::Builder::new().name("wharf-audit".into()).spawn(move || {
            let lost = thread.run();
            // The handle may have been dropped.
            let _ = end.send(lost);
        })?;
        Ok(Self { queue, ended })
    }

    /// Writes the queued records and ends the thread, within `timeout`. Returns whether all were written.
    pub fn close(self, timeout: Duration) -> bool {
        self.queue.close();
        match self.ended.recv_timeout(timeout) {
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

impl Drop for AuditWriter {
    /// Ends the thread without waiting for the queued records.
    fn drop(&mut self) {
        self.queue.close();
    }
}

struct Thread {
    file: LogFile,
    queue: Arc<Queue>,
    /// Lost records that the log does not count yet.
    lost: u64,
    /// Refused calls that the log does not count yet.
    refused: u64,
    failing: bool,
}

impl Thread {
    /// Returns the number of records that were lost at the end.
    fn run(mut self) -> u64 {
        let required = self.queue.is_required();
        // Lower priority: serving a call comes before recording another. Even so there is more CPU time than
        // records need; where the priority cannot be set, calls wait a little more often. A required log
        // keeps the normal priority, since responses wait for it.
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
                self.queue.report_write(None, true);
                let closing = taken.last || self.queue.pause(RETRY_INTERVAL);
                done += self.write_all(&lines[done..]);
                if closing {
                    break;
                }
            }
            self.lost += records_of(&lines[done..]).count() as u64;
            let has_unreported = self.lost + self.refused > 0 && (lines.is_empty() || taken.last);
            if has_unreported || (required && lines.is_empty()) {
                self.write(&[]);
            }
            let whole = done == lines.len();
            self.queue.report_write(whole.then_some(taken.accepted), self.failing);
            if taken.last {
                return self.lost;
            }
            lines.clear();
            // Frees the memory of a burst.
            lines.shrink_to(BATCH_SIZE);
            if !required {
                self.queue.pause(PAUSE);
            }
        }
    }

    /// Writes lines in batches; returns how many bytes are done: written, or counted as lost.
    fn write_all(&mut self, lines: &[u8]) -> usize {
        let mut done = 0;
        while done < lines.len() {
            let rest = &lines[done..];
            let end = memchr::memchr(b'\n', &rest[rest.len().min(BATCH_SIZE) - 1..]);
            let end = end.map_or(rest.len(), |at| rest.len().min(BATCH_SIZE) + at);
            if !self.write(&rest[..end]) {
                if self.queue.is_required() {
                    return done;
                }
                self.lost += records_of(&rest[..end]).count() as u64;
            }
            done += end;
        }
        done
    }

    /// Appends a batch, preceded by lines on lost records and changes of the file. Returns whether that
    /// succeeded. An empty batch writes only these lines.
    fn write(&mut self, batch: &[u8]) -> bool {
        // While a required log fails, first check whether space can be reserved: a line for each attempt
        // would fill the little that is left.
        let is_probe = batch.is_empty() && self.failing && self.queue.is_required();
        let (lost, refused) = (&mut self.lost, self.refused);
        let timeout = if self.queue.is_required() { WAITED_FOR_TIMEOUT } else { UNWAITED_FOR_TIMEOUT };
        let written = self.file.append(timeout, |link, bytes, found| {
            // At least one: that of the incomplete line.
            *lost += u64::from(found.incomplete);
            let (lost, refused) = if is_probe { (0, 0) } else { (*lost, refused) };
            line::append_found(found, lost, refused, link, bytes);
            for rendered in records_of(batch) {
                line::append(rendered, link, bytes);
            }
        });
        let reserved = match &written {
            Ok(()) => self.file.reserve(),
            Err(_) => Ok(()),
        };
        if written.is_ok() && !is_probe {
            (self.lost, self.refused) = (0, 0);
        }
        let failure = written.as_ref().err().or(reserved.as_ref().err());
        let failed = std::mem::replace(&mut self.failing, failure.is_some());
        match failure {
            Some(error) if !failed && self.queue.is_required() => {
                tracing::error!("calls are refused until they can be audited: failed to {error}");
            }
            Some(error) if !failed => tracing::error!("calls continue without audit: failed to {error}"),
            None if failed => tracing::warn!("audit log working again"),
            _ => {}
        }
        if is_probe && !self.failing {
            return self.write(&[]);
        }
        written.is_ok()
    }
}

/// The lines of a batch, without their line breaks.
fn records_of(batch: &[u8]) -> impl Iterator<Item = &[u8]> {
    batch.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end)
}

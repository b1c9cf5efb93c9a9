//! The one thread that writes the log.
//!
//! What it cannot write it counts, and says so in the log when it can write again.

use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::process::setpriority_process;

use super::file::LogFile;
use super::line;

/// Bytes that wait for the disk; a record that finds no room is dropped and counted.
pub(super) const QUEUE: usize = 8 << 20;
/// Bytes that are written together, and by which a file may be larger than it should.
const BATCH: usize = 64 << 10;
/// Between two looks: whoever records must not wake the thread each time.
const PAUSE: Duration = Duration::from_millis(5);

/// Whoever serves a call goes before the record of another. With a third of the weight of the
/// others there is still more time for records than they need.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// What waits to be written.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    /// What [`line::render`] has made, each with a line's end.
    lines: Vec<u8>,
    /// Records that found no room.
    dropped: u64,
    /// The thread has nothing to do, and is to be woken.
    idle: bool,
    closing: bool,
}

impl Queue {
    /// Puts a line without its end into the queue, or counts that there was no room for it.
    pub(super) fn put(&self, rendered: &[u8]) {
        let mut waiting = self.waiting();
        if waiting.lines.len() + rendered.len() < QUEUE {
            waiting.lines.extend_from_slice(rendered);
            waiting.lines.push(b'\n');
        } else {
            waiting.dropped += 1;
        }
        let idle = std::mem::take(&mut waiting.idle);
        drop(waiting);
        if idle {
            self.changed.notify_one();
        }
    }

    /// Waits for something to do. What waits is put into `lines`, which is empty; also how many records
    /// were dropped, and whether these are the last.
    fn take(&self, lines: &mut Vec<u8>) -> (u64, bool) {
        let nothing = |waiting: &mut Waiting| {
            waiting.idle = waiting.lines.is_empty() && waiting.dropped == 0 && !waiting.closing;
            waiting.idle
        };
        let waiting = self.changed.wait_while(self.waiting(), nothing);
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.lines, lines);
        (std::mem::take(&mut waiting.dropped), waiting.closing)
    }

    /// Lets lines come together for a while, unless the end has come.
    fn pause(&self) {
        drop(self.changed.wait_timeout_while(self.waiting(), PAUSE, |waiting| !waiting.closing));
    }

    fn close(&self) {
        self.waiting().closing = true;
        self.changed.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread, for whoever ends it.
pub struct Writer {
    queue: Arc<Queue>,
    ended: Receiver<()>,
}

impl Writer {
    pub(super) fn start(file: LogFile, queue: Arc<Queue>) -> io::Result<Self> {
        let (end, ended) = std::sync::mpsc::channel();
        let thread = Thread { file, queue: queue.clone(), lost: 0, failing: false };
        thread::Builder::new().name("wharf-audit".into()).spawn(move || {
            thread.run();
            // Nobody may be waiting.
            let _ = end.send(());
        })?;
        Ok(Self { queue, ended })
    }

    /// Writes what is in the queue, if that takes no longer.
    pub fn close(self, patience: Duration) {
        self.queue.close();
        if self.ended.recv_timeout(patience).is_err() {
            tracing::warn!("the end of the audit log could not be written in time");
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
    failing: bool,
}

impl Thread {
    fn run(mut self) {
        // Of this thread alone, on Linux. Where it cannot be had, calls wait a little more often.
        #[cfg(target_os = "linux")]
        let _ = setpriority_process(None, NICE);
        let mut lines = Vec::new();
        loop {
            let (dropped, last) = self.queue.take(&mut lines);
            self.lost += dropped;
            let mut rest = &lines[..];
            while !rest.is_empty() {
                let end = memchr::memchr(b'\n', &rest[rest.len().min(BATCH) - 1..]);
                let end = end.map_or(rest.len(), |at| rest.len().min(BATCH) + at);
                let (batch, later) = rest.split_at(end);
                self.write(batch);
                rest = later;
            }
            if self.lost > 0 && (lines.is_empty() || last) {
                self.write(&[]);
            }
            if last {
                return;
            }
            lines.clear();
            // A burst is over some time.
            lines.shrink_to(BATCH);
            self.queue.pause();
        }
    }

    fn write(&mut self, batch: &[u8]) {
        let lines = || batch.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let lost = &mut self.lost;
        let written = self.file.append(|link, bytes, cut| {
            // At least the one of the line that was cut off.
            *lost += u64::from(cut);
            if *lost > 0 {
                line::place(&line::render_lost(*lost), link, bytes);
            }
            for rendered in lines() {
                line::place(rendered, link, bytes);
            }
        });
        match written {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    tracing::warn!(lost = self.lost, "the audit log goes on");
                }
                self.lost = 0;
            }
            Err(error) => {
                self.lost += lines().count() as u64;
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!("calls go on without audit: failed to {error}");
                }
            }
        }
    }
}

//! The one thread that writes the log.
//!
//! What it cannot write it counts, and says so in the log when it can write again.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError};
use std::thread;
use std::time::Duration;

use super::file::LogFile;
use super::{Record, line};

/// Records that are written together.
const BATCH: usize = 128;
/// Between two batches: whoever records must not wake the thread each time.
const PAUSE: Duration = Duration::from_millis(5);

/// What is in the queue. Nothing but its arrival matters of a wake.
pub(super) enum Entry {
    Record(Box<Record>),
    Wake,
}

/// What both ends know beside the queue.
#[derive(Default)]
pub(super) struct Shared {
    /// Records that found no place.
    pub(super) dropped: AtomicU64,
    closing: AtomicBool,
}

/// The thread, for whoever ends it.
pub struct Writer {
    sender: SyncSender<Entry>,
    shared: Arc<Shared>,
    ended: Receiver<()>,
}

impl Writer {
    pub(super) fn start(
        file: LogFile,
        (sender, entries): (SyncSender<Entry>, Receiver<Entry>),
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let (end, ended) = std::sync::mpsc::channel();
        let thread = Thread { file, entries, shared: shared.clone(), lost: 0, failing: false };
        thread::Builder::new().name("wharf-audit".into()).spawn(move || {
            thread.run();
            // Nobody may be waiting.
            let _ = end.send(());
        })?;
        Ok(Self { sender, shared, ended })
    }

    /// Writes what is in the queue, if that takes no longer.
    pub fn close(self, patience: Duration) {
        self.shared.closing.store(true, Ordering::Release);
        // A full queue wakes it too.
        if let Err(TrySendError::Disconnected(_)) = self.sender.try_send(Entry::Wake) {
            return;
        }
        if self.ended.recv_timeout(patience).is_err() {
            tracing::warn!("the end of the audit log could not be written in time");
        }
    }
}

struct Thread {
    file: LogFile,
    entries: Receiver<Entry>,
    shared: Arc<Shared>,
    /// Records that are not in the file, of which it does not say so yet.
    lost: u64,
    failing: bool,
}

impl Thread {
    fn run(mut self) {
        loop {
            // What was recorded before the end was asked for is in the queue by then.
            let closing = self.shared.closing.load(Ordering::Acquire);
            let first = if closing { self.entries.try_recv().ok() } else { self.entries.recv().ok() };
            let Some(first) = first else {
                return self.write(&[]);
            };
            let mut batch = Vec::new();
            batch.extend(record(first));
            while batch.len() < BATCH
                && let Ok(entry) = self.entries.try_recv()
            {
                batch.extend(record(entry));
            }
            self.write(&batch);
            if batch.len() < BATCH && !closing {
                thread::sleep(PAUSE);
            }
        }
    }

    fn write(&mut self, batch: &[Box<Record>]) {
        self.lost += self.shared.dropped.swap(0, Ordering::Relaxed);
        if batch.is_empty() && self.lost == 0 {
            return;
        }
        let lost = &mut self.lost;
        let written = self.file.append(|link, bytes, cut| {
            // At least the one of the line that was cut off.
            *lost += u64::from(cut);
            if *lost > 0 {
                line::write_lost(*lost, link, bytes);
            }
            for record in batch {
                line::write(record, link, bytes);
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
                self.lost += batch.len() as u64;
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::error!("calls go on without audit: failed to {error}");
                }
            }
        }
    }
}

fn record(entry: Entry) -> Option<Box<Record>> {
    match entry {
        Entry::Record(record) => Some(record),
        Entry::Wake => None,
    }
}

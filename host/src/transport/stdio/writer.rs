//! Writes messages, one per line.
//!
//! A thread writes the messages of the outbox. While nothing is being written, another thread may
//! write a response itself, which saves waking the writer.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use tokio::sync::mpsc;

use crate::os::output;
use crate::server::Outgoing;
use crate::sync::lock;

/// Bytes that are combined into one write.
const BATCH: usize = 64 << 10;
/// Bytes that can be written without waiting, where [`Output::is_ready`].
const SHORT: usize = output::ATOMIC_WRITE;

/// The output.
pub trait Output: Write + Send + 'static {
    /// Whether [`SHORT`] bytes can be written without blocking.
    fn is_ready(&self) -> bool {
        false
    }
}

impl Output for io::Stdout {
    fn is_ready(&self) -> bool {
        output::is_ready(self)
    }
}

pub(super) struct Writer<W> {
    output: Mutex<State<W>>,
    /// Number of writes.
    written: AtomicU64,
}

struct State<W> {
    output: W,
    /// Lines to be written.
    lines: Vec<u8>,
}

impl<W: Output> Writer<W> {
    pub(super) fn new(output: W) -> Self {
        Self { output: Mutex::new(State { output, lines: Vec::new() }), written: AtomicU64::new(0) }
    }

    /// Writes a message if that does not block.
    pub(super) fn try_write(&self, message: &Outgoing) -> Option<io::Result<()>> {
        if message.text.len() >= SHORT {
            return None;
        }
        let mut state = match self.output.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        state.output.is_ready().then(|| {
            state.push(message);
            state.write()
        })
    }

    /// Writes messages until the outbox is closed, as many at once as are queued.
    pub(super) fn write_all(&self, mut messages: mpsc::Receiver<Outgoing>) -> io::Result<()> {
        while let Some(message) = messages.blocking_recv() {
            let mut state = self.lock();
            state.push(&message);
            while state.lines.len() < BATCH
                && let Ok(message) = messages.try_recv()
            {
                state.push(&message);
            }
            state.write()?;
            self.written.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Increases while the client reads what the thread writes.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        lock(&self.output)
    }
}

impl<W: Write> State<W> {
    /// Appends a message as one line. A newline inside it would forge another message; JSON strings
    /// contain none, so a blank in its place changes nothing.
    fn push(&mut self, message: &Outgoing) {
        let mut start = self.lines.len();
        self.lines.extend_from_slice(message.text.as_bytes());
        while let Some(at) = memchr::memchr2(b'\n', b'\r', &self.lines[start..]) {
            self.lines[start + at] = b' ';
            start += at;
        }
        self.lines.push(b'\n');
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.output.write_all(&self.lines).and_then(|()| self.output.flush());
        self.lines.clear();
        // One large message must not keep its memory allocated.
        self.lines.shrink_to(2 * BATCH);
        written
    }
}

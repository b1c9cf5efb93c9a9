//! Messages on their way out, each on a line of its own.
//!
//! One thread writes what comes through the outbox. Whoever has an answer while nothing is being written
//! may write it himself, which saves waking that thread.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use tokio::sync::mpsc;

use crate::os::output;
use crate::server::Outgoing;

/// What is gathered into one write.
const BATCH: usize = 64 << 10;
/// Bytes that can be written without waiting, where [`Output::is_ready`].
const SHORT: usize = output::AT_ONCE;

/// Where messages are written.
pub trait Output: Write + Send + 'static {
    /// Whether [`SHORT`] bytes can be written without waiting for who reads.
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
    /// How often something was written.
    written: AtomicU64,
}

struct State<W> {
    output: W,
    /// Lines that are about to be written.
    lines: Vec<u8>,
}

impl<W: Output> Writer<W> {
    pub(super) fn new(output: W) -> Self {
        Self { output: Mutex::new(State { output, lines: Vec::new() }), written: AtomicU64::new(0) }
    }

    /// Writes a message if that can be done at once.
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

    /// Writes what comes, as many at once as there are, until there will be no more.
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

    /// Grows while who reads takes what the thread writes.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> State<W> {
    /// A newline inside a message would let it forge another one. JSON has none inside strings,
    /// so a blank in its place changes nothing.
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
        // One large message must not hold its memory for ever.
        self.lines.shrink_to(2 * BATCH);
        written
    }
}

//! Writes what a guest prints and logs to the host's log: bounded and escaped.
//!
//! Never inherits a stream of the host, and never makes a guest wait or fail: messages
//! over the budget are dropped and counted.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::plugin::abi::LogLevel;
use crate::plugin::id::PluginId;
use crate::plugin::policy::redact::call::Redaction;
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept;
use crate::sync::lock;
use crate::text;

/// Maximum bytes of one line; a longer one is split.
const LINE: usize = 8 << 10;
/// Cost of a line in addition to its bytes, so that empty ones are not free.
const LINE_COST: u64 = 64;
/// Maximum bytes of the last lines on stderr that are kept over the budget, for a crash.
const TAIL: u64 = LINE as u64 + LINE_COST;

/// The log budget of one call, shared by its streams.
pub(in crate::plugin) struct LogBudget {
    plugin: PluginId,
    /// The id of the call's trace.
    trace: Option<String>,
    redaction: Redaction,
    /// What is printed is told to it.
    tape: Option<Tape>,
    left: AtomicU64,
    dropped: AtomicU64,
    /// The last lines on stderr that were over the budget, as printed.
    tail: Mutex<VecDeque<Vec<u8>>>,
    /// Bytes of them; no more than the budget, which may be 0.
    tail_limit: u64,
    crashed: AtomicBool,
}

impl LogBudget {
    pub(in crate::plugin) fn new(plugin: PluginId, trace: Option<String>, redaction: Redaction, bytes: u64) -> Self {
        Self {
            plugin,
            trace,
            redaction,
            tape: None,
            left: AtomicU64::new(bytes),
            dropped: AtomicU64::new(0),
            tail: Mutex::default(),
            tail_limit: bytes.min(TAIL),
            crashed: AtomicBool::new(false),
        }
    }

    pub(in crate::plugin) fn with_tape(mut self, tape: Option<Tape>) -> Self {
        self.tape = tape;
        self
    }

    /// Takes a line's cost from the budget; false if the line must be dropped.
    pub(in crate::plugin) fn admit(&self, bytes: usize) -> bool {
        let cost = bytes as u64 + LINE_COST;
        let take = |left: u64| left.checked_sub(cost);
        let admitted = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if !admitted {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        admitted
    }

    /// The guest crashed: its last lines on stderr are the reason, and are logged over the budget.
    pub(in crate::plugin) fn set_crashed(&self) {
        self.crashed.store(true, Ordering::Relaxed);
    }

    /// Keeps a dropped line until later ones take its place. Not cut: a part of a secret would not be
    /// redacted.
    fn keep(&self, line: &[u8]) {
        let mut tail = lock(&self.tail);
        tail.push_back(line.to_vec());
        while tail.iter().map(|line| line.len() as u64 + LINE_COST).sum::<u64>() > self.tail_limit {
            tail.pop_front();
        }
    }

    /// Printed bytes with the secrets redacted.
    fn redacted<'a>(&self, printed: &'a [u8]) -> Cow<'a, [u8]> {
        self.redaction.each().fold(Cow::Borrowed(printed), |printed, redactor| match printed {
            Cow::Borrowed(printed) => redactor.bytes(printed),
            Cow::Owned(printed) => Cow::Owned(redactor.bytes(&printed).into_owned()),
        })
    }

    /// Where a long line may be split: not within a secret.
    fn cut(&self, line: &[u8]) -> usize {
        self.redaction.each().map(|redactor| redactor.cut(line)).min().unwrap_or(line.len())
    }

    /// Writes one line of a stream.
    fn write_line(&self, stream: &'static str, printed: &[u8]) {
        if let Some(tape) = &self.tape {
            tape.tell(stream, kept::bytes(printed));
        }
        let line = self.redacted(printed);
        let line = String::from_utf8_lossy(&line);
        self.write(LogLevel::Info, stream, line.trim_end_matches('\r'));
    }

    /// Writes one admitted message, each of its lines by itself: a further one costs as much as an empty message.
    pub(in crate::plugin) fn write(&self, level: LogLevel, source: &str, message: &str) {
        let source = text::quote(source, 64);
        let is_stack = is_stack(level, message);
        let mut remaining = LINE;
        for (number, line) in message.strip_suffix('\n').unwrap_or(message).split('\n').enumerate() {
            if number > 0 && (remaining == 0 || !self.admit(0)) {
                break;
            }
            let line = text::quote(line.trim_end_matches('\r'), remaining);
            remaining = remaining.saturating_sub(line.len());
            self.write_event(level, is_stack, &source, &line);
        }
    }

    fn write_event(&self, level: LogLevel, is_stack: bool, source: &str, line: &str) {
        // No line of the host begins with this prefix. The plugin's id comes last, so that a message
        // cannot continue after it.
        let (plugin, trace, message) = (&self.plugin, self.trace.as_deref(), format!("guest: {line}"));
        match level {
            // A target of its own: commands of authors show it.
            LogLevel::Debug if is_stack => tracing::debug!(target: "guest::stack", source, trace, %plugin, "{message}"),
            LogLevel::Debug => tracing::debug!(target: "guest", source, trace, %plugin, "{message}"),
            LogLevel::Info | LogLevel::Notice => {
                tracing::info!(target: "guest", source, trace, %plugin, "{message}");
            }
            LogLevel::Warning => tracing::warn!(target: "guest", source, trace, %plugin, "{message}"),
            LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
                tracing::error!(target: "guest", source, trace, %plugin, "{message}");
            }
        }
    }
}

/// Whether it is an exception with its stack, as wrappers log it at a level that clients do not get unasked.
fn is_stack(level: LogLevel, message: &str) -> bool {
    let is_frame = |line: &str| line.starts_with(' ') && line.trim_start().starts_with("at ");
    level == LogLevel::Debug && message.lines().skip(1).any(is_frame)
}

impl Drop for LogBudget {
    fn drop(&mut self) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            let plugin = &self.plugin;
            tracing::warn!(target: "guest", %plugin, "dropped {dropped} messages over the call's log limit (`limits.log`)");
        }
        if self.crashed.load(Ordering::Relaxed) {
            let tail = std::mem::take(&mut *lock(&self.tail));
            for line in tail {
                self.write_line(STDERR, &line);
            }
        }
    }
}

/// The name of a guest's stderr.
pub(in crate::plugin) const STDERR: &str = "stderr";

/// A guest's stdout or stderr.
#[derive(Clone)]
pub(in crate::plugin) struct GuestOutput {
    pub(in crate::plugin) name: &'static str,
    pub(in crate::plugin) budget: Arc<LogBudget>,
}

impl IsTerminal for GuestOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl GuestOutput {
    /// Its lines, for another stream that is logged.
    pub(super) fn lines(&self) -> Lines {
        Lines::new(self)
    }
}

impl StdoutStream for GuestOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(Lines::new(self))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(Lines::new(self))
    }
}

/// Splits a stream of bytes into lines.
pub(super) struct Lines {
    output: GuestOutput,
    buffer: Vec<u8>,
}

impl Lines {
    fn new(output: &GuestOutput) -> Self {
        Self { output: output.clone(), buffer: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|b| *b == b'\n') {
            let mut rest = part;
            while self.buffer.len() + rest.len() > LINE {
                let (now, later) = rest.split_at(LINE - self.buffer.len());
                self.buffer.extend_from_slice(now);
                let next = self.buffer.split_off(self.output.budget.cut(&self.buffer));
                self.emit();
                self.buffer = next;
                rest = later;
            }
            self.buffer.extend_from_slice(rest);
            if self.buffer.last() == Some(&b'\n') {
                self.buffer.pop();
                self.emit();
            }
        }
    }

    fn emit(&mut self) {
        let GuestOutput { name, budget } = &self.output;
        if budget.admit(self.buffer.len()) {
            budget.write_line(name, &self.buffer);
        } else if *name == STDERR {
            budget.keep(&self.buffer);
        }
        self.buffer.clear();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if !self.buffer.is_empty() {
            self.emit();
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for Lines {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

//! The arguments and standard streams of a command, for one call.
//!
//! What it writes is kept in memory: all of stdout up to a limit, at which the program is stopped, and the last lines of
//! stderr, which go to the log as well.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use super::guest_log::{GuestOutput, Lines};
use crate::sync::lock;

/// Bytes of one write that a guest may ask for.
const WRITE: usize = 64 << 10;
/// Bytes of stderr that are kept.
const STDERR: usize = 16 << 10;

/// For the log.
const EXCEEDED: &str = "more output than its limit";

/// What a command is started with, and what it writes.
pub(in crate::plugin) struct Program {
    /// The name of the program comes first.
    pub(in crate::plugin) arguments: Vec<String>,
    pub(in crate::plugin) stdin: Bytes,
    pub(in crate::plugin) output: Output,
}

/// What a command has written so far.
#[derive(Clone)]
pub(in crate::plugin) struct Output {
    stdout: Arc<Mutex<Written>>,
    stderr: Arc<Mutex<Written>>,
}

struct Written {
    bytes: Vec<u8>,
    limit: usize,
    /// More was written than is kept.
    exceeded: bool,
}

impl Program {
    /// `limit`: bytes of stdout.
    pub(in crate::plugin) fn new(arguments: Vec<String>, stdin: String, limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let written = |limit| Arc::new(Mutex::new(Written { bytes: Vec::new(), limit, exceeded: false }));
        Self { arguments, stdin: stdin.into(), output: Output { stdout: written(limit), stderr: written(STDERR) } }
    }

    pub(super) fn stdin(&self) -> MemoryInputPipe {
        MemoryInputPipe::new(self.stdin.clone())
    }

    pub(super) fn stdout(&self) -> Captured {
        Captured { written: self.output.stdout.clone(), log: None }
    }

    /// `log`: its stream in the log.
    pub(super) fn stderr(&self, log: GuestOutput) -> Captured {
        Captured { written: self.output.stderr.clone(), log: Some(log) }
    }
}

impl Output {
    /// Whether the program was stopped because it wrote too much to stdout.
    pub(in crate::plugin) fn exceeded(&self) -> bool {
        lock(&self.stdout).exceeded
    }

    pub(in crate::plugin) fn take_stdout(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.stdout).bytes)
    }

    /// The last lines on stderr. A line whose beginning is lost is left out: a part of a secret would not be redacted.
    pub(in crate::plugin) fn take_stderr(&self) -> String {
        let mut written = lock(&self.stderr);
        let bytes = std::mem::take(&mut written.bytes);
        let kept = match written.exceeded {
            false => &bytes[..],
            true => bytes.iter().position(|byte| *byte == b'\n').map_or(&[][..], |end| &bytes[end + 1..]),
        };
        String::from_utf8_lossy(kept).into_owned()
    }
}

impl Written {
    /// Fails if it is more than the limit: the guest is stopped.
    fn push(&mut self, more: &[u8]) -> Result<(), ()> {
        if more.len() > self.limit - self.bytes.len() {
            self.exceeded = true;
            return Err(());
        }
        self.bytes.extend_from_slice(more);
        Ok(())
    }

    /// Keeps the last bytes.
    fn push_tail(&mut self, more: &[u8]) {
        let more = match more.len().checked_sub(self.limit) {
            Some(over) => {
                self.exceeded |= over > 0 || !self.bytes.is_empty();
                self.bytes.clear();
                &more[over..]
            }
            None => more,
        };
        let over = (self.bytes.len() + more.len()).saturating_sub(self.limit);
        self.exceeded |= over > 0;
        self.bytes.drain(..over);
        self.bytes.extend_from_slice(more);
    }
}

/// A stream of a command. Without a log it is stdout.
#[derive(Clone)]
pub(super) struct Captured {
    written: Arc<Mutex<Written>>,
    log: Option<GuestOutput>,
}

impl IsTerminal for Captured {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Captured {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.writer())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.writer())
    }
}

impl Captured {
    fn writer(&self) -> Writer {
        let log = self.log.as_ref().map(GuestOutput::lines);
        Writer { written: self.written.clone(), log }
    }
}

struct Writer {
    written: Arc<Mutex<Written>>,
    log: Option<Lines>,
}

impl Writer {
    /// Fails if stdout is over its limit.
    fn push(&mut self, bytes: &[u8]) -> Result<(), ()> {
        match &mut self.log {
            Some(log) => {
                lock(&self.written).push_tail(bytes);
                log.push(bytes);
                Ok(())
            }
            None => lock(&self.written).push(bytes),
        }
    }
}

#[async_trait::async_trait]
impl Pollable for Writer {
    async fn ready(&mut self) {}
}

impl OutputStream for Writer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes).map_err(|()| StreamError::Trap(wasmtime::format_err!(EXCEEDED)))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let pushed = self.push(bytes).map(|()| bytes.len());
        Poll::Ready(pushed.map_err(|()| std::io::Error::other(EXCEEDED)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limit: usize) -> Written {
        Written { bytes: Vec::new(), limit, exceeded: false }
    }

    #[test]
    fn stdout_ends_at_its_limit() {
        let mut stdout = written(4);
        assert_eq!(stdout.push(b"abcd"), Ok(()));
        assert!(!stdout.exceeded);
        assert_eq!(stdout.push(b"e"), Err(()));
        assert!(stdout.exceeded && stdout.bytes == b"abcd");
    }

    #[test]
    fn the_end_of_stderr_is_kept() {
        let mut stderr = written(8);
        stderr.push_tail(b"12345678");
        assert!(!stderr.exceeded);
        stderr.push_tail(b"9\n");
        assert!(stderr.exceeded);
        assert_eq!(stderr.bytes, b"3456789\n");
        stderr.push_tail(b"long\nand\nlast\n");
        assert_eq!(stderr.bytes, b"nd\nlast\n");
    }

    #[test]
    fn a_line_without_its_beginning_is_left_out() {
        let program = Program::new(Vec::new(), String::new(), 1);
        lock(&program.output.stderr).push_tail("secret ".repeat(STDERR).as_bytes());
        assert_eq!(program.output.take_stderr(), "");
        lock(&program.output.stderr).push_tail(b"\nfailed: \xff\n");
        assert_eq!(program.output.take_stderr(), "failed: \u{fffd}\n");
    }
}

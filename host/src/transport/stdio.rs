//! MCP over standard input and output: one JSON-RPC message a line, in UTF-8.
//!
//! The only code that touches stdout. It runs over any reader and writer.
//! Source: MCP 2026-07-28, basic/transports/stdio; the older revisions, basic/transports.

mod writer;

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::identity::Identity;
use crate::idle::IdleHook;
use crate::server::{Answered, Connection, Server};
pub use writer::Output;
use writer::Writer;

/// Capacity of the outbox, in messages.
const OUTBOX: usize = 64;
/// At shutdown, how long the client may take to read responses: without progress, and in total.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// Limits of a connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Maximum bytes of one message; a longer line is discarded unread.
    pub max_message: usize,
    /// How long calls may continue after the end of input.
    pub after_eof: Duration,
    /// How long calls may continue at shutdown.
    pub drain: Duration,
    /// Runs on the reading thread when no further message is available.
    pub idle: IdleHook,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_message: 4 << 20,
            after_eof: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            idle: IdleHook::default(),
        }
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed the input.
    EndOfInput,
    /// `shutdown` resolved.
    Shutdown,
    /// The client closed the output.
    OutputClosed,
}

/// Serves one client until the input ends, `shutdown` resolves, or the output fails. Running calls
/// then get the time that [`Settings`] gives them.
pub async fn serve(
    server: Arc<Server>,
    input: impl Read + Send + 'static,
    output: impl Output,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
) -> End {
    let (outbox, messages) = mpsc::channel(OUTBOX);
    let (read_sender, read) = oneshot::channel();
    let (written_sender, mut written) = oneshot::channel();
    let writer = Arc::new(Writer::new(output));
    let connection = server.connect(outbox, &Arc::new(Identity::local()));
    let reader = Reader {
        connection: Arc::downgrade(&connection),
        writer: writer.clone(),
        runtime: Handle::current(),
        limit: settings.max_message,
        idle: settings.idle,
    };
    let progress = writer.clone();
    // Threads, not tasks: reading stdin blocks, and must not delay the exit.
    thread::spawn(move || {
        let input = BufReader::with_capacity(64 << 10, input);
        let end = read_lines(input, settings.max_message, |frame, more| reader.take(frame, more));
        // An error means that serving has ended for another reason.
        let _ = read_sender.send(end);
    });
    thread::spawn(move || {
        if let Err(error) = writer.write_all(messages) {
            tracing::debug!(%error, "stopped writing");
        }
        // An error means that serving no longer waits for this thread.
        let _ = written_sender.send(());
    });

    let end = tokio::select! {
        end = read => end.unwrap_or(End::EndOfInput),
        () = shutdown => End::Shutdown,
        _ = &mut written => End::OutputClosed,
    };
    if end == End::OutputClosed {
        return end;
    }
    let grace = if end == End::Shutdown { settings.drain } else { settings.after_eof };
    connection.close(grace).await;
    connection.server().log_cut_off();
    drop(connection);
    // Responses must reach a client that reads; one that does not must not block the exit.
    let flushed = async {
        let mut before = progress.written();
        while tokio::time::timeout(STALL_TIMEOUT, &mut written).await.is_err() {
            let now = progress.written();
            if std::mem::replace(&mut before, now) == now {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(FLUSH_TIMEOUT, flushed).await;
    end
}

/// The reading thread. It polls each request once, and sends responses that are ready.
struct Reader<W> {
    /// Dropped at shutdown.
    connection: Weak<Connection>,
    writer: Arc<Writer<W>>,
    runtime: Handle,
    limit: usize,
    idle: IdleHook,
}

impl<W: Output> Reader<W> {
    /// With `more` lines available, the idle hook does not run yet.
    fn take(&self, line: Line<'_>, more: bool) -> ControlFlow<End> {
        let Some(connection) = self.connection.upgrade() else { return ControlFlow::Break(End::Shutdown) };
        let answered = match line {
            Line::Whole(line) => self.runtime.block_on(connection.begin(line, more)),
            Line::TooLong => connection.refuse_oversized(self.limit),
        };
        let sent = answered.map_or(ControlFlow::Continue(()), |answered| self.send(&connection, answered));
        if !more {
            self.idle.run();
        }
        sent
    }

    fn send(&self, connection: &Arc<Connection>, answered: Answered) -> ControlFlow<End> {
        match self.writer.try_write(&answered.message) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "stopped writing");
                return ControlFlow::Break(End::OutputClosed);
            }
            // Requests run within the connection's limits, even if the client does not read.
            None if answered.is_counted() => {
                let connection = connection.clone();
                self.runtime.spawn(async move { connection.answer(answered).await });
            }
            None => self.runtime.block_on(connection.answer(answered)),
        }
        ControlFlow::Continue(())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// Without its line ending; never blank.
    Whole(&'a [u8]),
    TooLong,
}

/// Reads until the end of input, an error, or until lines are no longer accepted. Buffers at most
/// `limit` bytes of a line. Reports with each line whether the next one is available already.
fn read_lines(mut input: impl BufRead, limit: usize, mut take: impl FnMut(Line<'_>, bool) -> ControlFlow<End>) -> End {
    // The beginning of an incomplete line.
    let mut partial = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::debug!(%error, "stopped reading");
                return End::EndOfInput;
            }
        };
        let end_of_input = chunk.is_empty();
        let newline = memchr::memchr(b'\n', chunk);
        let part = &chunk[..newline.unwrap_or(chunk.len())];
        too_long |= partial.len() + part.len() > limit;
        let whole = newline.is_some() || end_of_input;
        if too_long {
            partial = Vec::new();
        } else if !(whole && partial.is_empty()) {
            partial.extend_from_slice(part);
        }
        if whole {
            let line = if partial.is_empty() { part } else { &partial };
            let more = newline.is_some_and(|at| memchr::memchr(b'\n', &chunk[at + 1..]).is_some());
            let taken = if std::mem::take(&mut too_long) {
                take(Line::TooLong, more)
            } else if line.iter().all(u8::is_ascii_whitespace) {
                ControlFlow::Continue(())
            } else {
                take(Line::Whole(line), more)
            };
            if let ControlFlow::Break(end) = taken {
                return end;
            }
            if end_of_input {
                return End::EndOfInput;
            }
            // Replaced, not cleared: one long line must not keep its memory.
            partial = Vec::new();
        }
        let consumed = part.len() + usize::from(newline.is_some());
        input.consume(consumed);
    }
}

#[cfg(test)]
mod tests;

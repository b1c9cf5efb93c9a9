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

use crate::idle::IdleHook;
use crate::server::{Connection, Server};
pub use writer::Output;
use writer::Writer;

/// Messages that were made and not yet written.
const OUTBOX: usize = 64;
/// Whoever has the other end of the pipes; there is nobody to tell them apart by.
const LOCAL: &str = "local";
/// At the end, how long a client may read nothing of what was answered, and how long it may read.
const UNREAD: Duration = Duration::from_secs(1);
const READING: Duration = Duration::from_secs(3);

/// Bounds of a connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of one message; a longer line is thrown away unread.
    pub max_message: usize,
    /// How long calls may go on after the input has ended.
    pub after_eof: Duration,
    /// How long calls may go on after a request to stop.
    pub drain: Duration,
    /// Runs on the thread that reads, when no further message is there to be read.
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
    /// The client closed our input.
    EndOfInput,
    /// `shutdown` was ready.
    Shutdown,
    /// Nobody reads our output any more.
    OutputClosed,
}

/// Serves one client until it goes, `shutdown` is ready, or the output breaks. Calls that
/// are still running then get the time that [`Settings`] gives them.
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
    let connection = server.connect(outbox, LOCAL);
    let reader = Reader {
        connection: Arc::downgrade(&connection),
        writer: writer.clone(),
        runtime: Handle::current(),
        limit: settings.max_message,
        idle: settings.idle,
    };
    let progress = writer.clone();
    // Threads, not tasks: reading stdin blocks, and on exit nobody may have to wait for it.
    thread::spawn(move || {
        let input = BufReader::with_capacity(64 << 10, input);
        let end = read_frames(input, settings.max_message, |frame, more| reader.take(frame, more));
        // The receiver is gone when the serving side has ended for another reason.
        let _ = read_sender.send(end);
    });
    thread::spawn(move || {
        if let Err(error) = writer.write_all(messages) {
            tracing::debug!(%error, "stopped writing");
        }
        // The receiver is gone when the serving side gave up waiting for us.
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
    connection.server().tell_cut_off();
    drop(connection);
    // What was answered must reach a client that reads; one that does not cannot hold us.
    let reading = async {
        let mut before = progress.written();
        while tokio::time::timeout(UNREAD, &mut written).await.is_err() {
            let now = progress.written();
            if std::mem::replace(&mut before, now) == now {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(READING, reading).await;
    end
}

/// The thread that reads. It begins with each request itself, and sends the answers that are
/// there by then.
struct Reader<W> {
    /// Gone when nothing more is to be read.
    connection: Weak<Connection>,
    writer: Arc<Writer<W>>,
    runtime: Handle,
    limit: usize,
    idle: IdleHook,
}

impl<W: Output> Reader<W> {
    fn take(&self, frame: Frame<'_>, more: bool) -> ControlFlow<End> {
        let Some(connection) = self.connection.upgrade() else { return ControlFlow::Break(End::Shutdown) };
        let taken = self.take_to(&connection, frame, more);
        if !more {
            self.idle.run();
        }
        taken
    }

    fn take_to(&self, connection: &Arc<Connection>, frame: Frame<'_>, more: bool) -> ControlFlow<End> {
        let answered = match frame {
            Frame::Line(line) => self.runtime.block_on(connection.begin(line, more)),
            Frame::TooLong => connection.refuse_oversized(self.limit),
        };
        let Some(answered) = answered else { return ControlFlow::Continue(()) };
        match self.writer.try_write(&answered.message) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "stopped writing");
                return ControlFlow::Break(End::OutputClosed);
            }
            // So many requests may run as their connection allows, also if nobody reads.
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
enum Frame<'a> {
    /// Without its line ending; never blank.
    Line(&'a [u8]),
    TooLong,
}

/// Reads until the end of input, an error, or until nobody takes frames any more. Buffers
/// at most `limit` bytes of a line. Says with each frame whether the next one is there already.
fn read_frames(
    mut input: impl BufRead,
    limit: usize,
    mut take: impl FnMut(Frame<'_>, bool) -> ControlFlow<End>,
) -> End {
    // The beginning of a line that came in parts.
    let mut begun = Vec::new();
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
        too_long |= begun.len() + part.len() > limit;
        let whole = newline.is_some() || end_of_input;
        if too_long {
            begun = Vec::new();
        } else if !(whole && begun.is_empty()) {
            begun.extend_from_slice(part);
        }
        if whole {
            let line = if begun.is_empty() { part } else { &begun };
            let more = newline.is_some_and(|at| memchr::memchr(b'\n', &chunk[at + 1..]).is_some());
            let taken = if std::mem::take(&mut too_long) {
                take(Frame::TooLong, more)
            } else if line.iter().all(u8::is_ascii_whitespace) {
                ControlFlow::Continue(())
            } else {
                take(Frame::Line(line), more)
            };
            if let ControlFlow::Break(end) = taken {
                return end;
            }
            if end_of_input {
                return End::EndOfInput;
            }
            // Not cleared alone: one long line must not hold its memory for ever.
            begun = Vec::new();
        }
        let consumed = part.len() + usize::from(newline.is_some());
        input.consume(consumed);
    }
}

#[cfg(test)]
mod tests;

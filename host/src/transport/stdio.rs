//! MCP over standard input and output: one JSON-RPC message a line, in UTF-8.
//!
//! The only code that touches stdout. It runs over any reader and writer.
//! Source: MCP 2026-07-28, basic/transports/stdio; the older revisions, basic/transports.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::server::{Connection, Outgoing, Server};

/// Frames that were read and not yet taken. Few: what waits here has been refused nothing.
const FRAMES: usize = 16;
/// Messages that were made and not yet written.
const OUTBOX: usize = 64;
/// What is gathered into one write.
const WRITE_BATCH: usize = 64 << 10;

/// Whoever has the other end of the pipes; there is nobody to tell them apart by.
const LOCAL: &str = "local";

/// Bounds of a connection.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of one message; a longer line is thrown away unread.
    pub max_message: usize,
    /// How long calls may go on after the input has ended.
    pub after_eof: Duration,
    /// How long calls may go on after a request to stop.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_message: 4 << 20, after_eof: Duration::from_secs(1), drain: Duration::from_secs(5) }
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
    output: impl Write + Send + 'static,
    settings: Settings,
    shutdown: impl Future<Output = ()>,
) -> End {
    let (frame_sender, frames) = mpsc::channel(FRAMES);
    let (outbox, messages) = mpsc::channel(OUTBOX);
    let (written_sender, mut written) = oneshot::channel();
    // Threads, not tasks: reading stdin blocks, and on exit nobody may have to wait for it.
    thread::spawn(move || read_frames(BufReader::with_capacity(64 << 10, input), settings.max_message, &frame_sender));
    thread::spawn(move || {
        let end = write_messages(output, messages);
        // The receiver is gone when the serving side gave up waiting for us.
        let _ = written_sender.send(end);
    });

    let connection = server.connect(outbox, LOCAL);
    let end = tokio::select! {
        () = pump(frames, &connection, settings.max_message) => End::EndOfInput,
        () = shutdown => End::Shutdown,
        result = &mut written => {
            if let Ok(Err(error)) = result {
                tracing::debug!(%error, "stopped writing");
            }
            return End::OutputClosed;
        }
    };
    let grace = if end == End::Shutdown { settings.drain } else { settings.after_eof };
    connection.close(grace).await;
    drop(connection);
    // What was answered must reach a client that reads; one that does not cannot hold us.
    let _ = tokio::time::timeout(Duration::from_secs(1), written).await;
    end
}

async fn pump(mut frames: mpsc::Receiver<Frame>, connection: &Arc<Connection>, limit: usize) {
    while let Some(frame) = frames.recv().await {
        match frame {
            Frame::Line(line) => connection.receive(&line).await,
            Frame::TooLong => connection.refuse_oversized(limit).await,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Frame {
    /// Without its line ending; never blank.
    Line(Vec<u8>),
    TooLong,
}

/// Reads until the end of input, an error, or until nobody takes frames any more. Buffers
/// at most `limit` bytes of a line.
fn read_frames(mut input: impl BufRead, limit: usize, frames: &mpsc::Sender<Frame>) {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                tracing::debug!(%error, "stopped reading");
                return;
            }
        };
        let end_of_input = chunk.is_empty();
        let newline = memchr::memchr(b'\n', chunk);
        let part = &chunk[..newline.unwrap_or(chunk.len())];
        if too_long || line.len() + part.len() > limit {
            too_long = true;
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let consumed = part.len() + usize::from(newline.is_some());
        input.consume(consumed);
        if newline.is_none() && !end_of_input {
            continue;
        }
        let frame = if std::mem::take(&mut too_long) {
            Some(Frame::TooLong)
        } else {
            Some(std::mem::take(&mut line)).filter(|line| !line.iter().all(u8::is_ascii_whitespace)).map(Frame::Line)
        };
        if let Some(frame) = frame
            && frames.blocking_send(frame).is_err()
        {
            return;
        }
        if end_of_input {
            return;
        }
    }
}

/// Writes each message on a line of its own, as many at once as there are.
fn write_messages(mut output: impl Write, mut messages: mpsc::Receiver<Outgoing>) -> io::Result<()> {
    let mut batch = Vec::new();
    while let Some(message) = messages.blocking_recv() {
        batch.clear();
        push_line(&mut batch, &message.text);
        while batch.len() < WRITE_BATCH {
            match messages.try_recv() {
                Ok(message) => push_line(&mut batch, &message.text),
                Err(_) => break,
            }
        }
        output.write_all(&batch)?;
        output.flush()?;
        if batch.capacity() > 2 * WRITE_BATCH {
            batch = Vec::new();
        }
    }
    Ok(())
}

/// A newline inside a message would let it forge another one. JSON has none inside strings,
/// so a blank in its place changes nothing.
fn push_line(batch: &mut Vec<u8>, message: &str) {
    let start = batch.len();
    batch.extend_from_slice(message.as_bytes());
    for byte in &mut batch[start..] {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    batch.push(b'\n');
}

#[cfg(test)]
mod tests;

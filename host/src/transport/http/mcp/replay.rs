//! The messages of one stream of a session, retained so that a client can resume the stream after
//! its connection broke.
//!
//! `retention` limits the total. A client that resumes a stream whose response was evicted gets an
//! error in its place.
//!
//! Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::retention::{CallerRetention, EvictionRank, Stage};
use crate::byte_budget::Taken;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, RequestId};
use crate::server::{MessageKind, Outgoing};
use crate::sync::lock;

/// Maximum messages that one stream retains, and their bytes; the newest is always retained.
const MAX_MESSAGES: usize = 256;
const MAX_BYTES: usize = 1 << 20;
/// Approximate bytes of a message beside its text.
const OVERHEAD: usize = 128;
/// Maximum bytes of a request id that is retained for the error in place of the response.
const MAX_ID: usize = 256;

/// One stream: that of a POST, or the session's own.
pub(super) struct Replay {
    number: u64,
    retention: Arc<CallerRetention>,
    /// The id of the one request that it answers.
    request: Option<RequestId>,
    buffer: Mutex<Buffer>,
    /// Incremented with each message, with each new reader, and at the end.
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Buffer {
    messages: VecDeque<(Outgoing, Taken)>,
    /// Total bytes of their texts.
    bytes: usize,
    /// The number of the first message in the buffer.
    first: u64,
    /// The number after the last message that was delivered to a reader.
    read: u64,
    ended: bool,
    /// The response was evicted; an error may be in its place, which is not evicted.
    answer_dropped: bool,
    /// The number of the current reader; earlier readers stop.
    reader: u64,
    /// The reader has all messages so far, and takes the next one at once.
    caught_up: bool,
    rank: Option<EvictionRank>,
}

/// A position in a stream: the id of an SSE event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) after: u64,
}

impl EventId {
    /// Only as it is displayed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, after) = text.split_once('-')?;
        let id = Self { stream: stream.parse().ok()?, after: after.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.after)
    }
}

impl Replay {
    /// Retains the messages from `messages` until it is closed. `request`: the one that is answered
    /// there, if it is a single one.
    pub(super) fn of(
        number: u64,
        retention: Arc<CallerRetention>,
        request: Option<RequestId>,
        mut messages: mpsc::Receiver<Outgoing>,
    ) -> Arc<Self> {
        let replay = Arc::new(Self {
            number,
            retention,
            request: request.filter(|id| id.as_json().len() <= MAX_ID),
            buffer: Mutex::default(),
            version: watch::Sender::new(0),
        });
        let writer = replay.clone();
        tokio::spawn(async move {
            while let Some(mut message) = messages.recv().await {
                // Retained messages have limits of their own.
                message.release();
                writer.retain(message);
            }
            let mut buffer = writer.lock();
            buffer.ended = true;
            writer.update_rank(&mut buffer);
            drop(buffer);
            writer.notify();
        });
        replay
    }

    fn retain(self: &Arc<Self>, message: Outgoing) {
        let bytes = message.text.len();
        let taken = self.retention.reserve(bytes + OVERHEAD);
        let mut buffer = self.lock();
        match taken {
            Some(taken) => buffer.push(message, taken),
            // It is delivered in a moment.
            None if buffer.caught_up => buffer.push(message, self.retention.force_reserve(bytes + OVERHEAD)),
            None => {
                buffer.clear();
                buffer.first += 1;
                if Self::is_last(&message) {
                    self.replace_answer_with_error(&mut buffer);
                }
            }
        }
        while buffer.messages.len() > 1 && (buffer.messages.len() > MAX_MESSAGES || buffer.bytes > MAX_BYTES) {
            buffer.pop();
        }
        self.update_rank(&mut buffer);
        drop(buffer);
        self.notify();
    }

    /// Drops the buffered messages to free their bytes.
    pub(super) fn evict(self: &Arc<Self>) {
        let mut buffer = self.lock();
        // `retention` has removed it already.
        buffer.rank = None;
        let answered = buffer.messages.back().is_some_and(|(message, _)| Self::is_last(message));
        buffer.clear();
        if answered {
            self.replace_answer_with_error(&mut buffer);
        }
        self.update_rank(&mut buffer);
    }

    /// Puts an error in place of the response, the last message.
    fn replace_answer_with_error(&self, buffer: &mut Buffer) {
        buffer.answer_dropped = true;
        let Some(id) = &self.request else { return };
        let detail = "Internal error: the response was dropped before it was read, because too many responses are \
                      unread; send the request again";
        let error = ErrorObject::new(INTERNAL_ERROR, detail, json!({ "reason": "answer_dropped" }));
        let text = encode::error(Some(id), UnreadableId::Omit, &error);
        let taken = self.retention.force_reserve(text.len() + OVERHEAD);
        buffer.first -= 1;
        buffer.push(Outgoing::new(text, MessageKind::Error { code: INTERNAL_ERROR, of_envelope: false }), taken);
    }

    /// Updates the stream's position in the order of eviction.
    fn update_rank(self: &Arc<Self>, buffer: &mut Buffer) {
        let all_read = buffer.read == buffer.first + buffer.messages.len() as u64;
        let stage = match (buffer.ended, all_read) {
            (true, true) => Stage::Delivered,
            (true, false) => Stage::Ended,
            (false, _) => Stage::Running,
        };
        if let Some(rank) = buffer.rank.take() {
            if rank.0 == stage {
                buffer.rank = Some(rank);
                return;
            }
            self.retention.dequeue(rank);
        }
        if !buffer.messages.is_empty() && !buffer.answer_dropped {
            buffer.rank = Some(self.retention.enqueue(stage, self));
        }
    }

    /// A reader from after a message number, or after the last one delivered. It replaces the
    /// previous reader.
    pub(super) fn reader(self: &Arc<Self>, after: Option<u64>) -> ReplayReader {
        let mut buffer = self.lock();
        buffer.reader += 1;
        buffer.caught_up = false;
        // A number beyond the end is of another session.
        let next = after.unwrap_or(buffer.read).min(buffer.first + buffer.messages.len() as u64);
        let mine = buffer.reader;
        drop(buffer);
        self.notify();
        ReplayReader { replay: self.clone(), mine, next }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Whether that many messages have been in the stream.
    pub(super) fn has_had(&self, messages: u64) -> bool {
        let buffer = self.lock();
        messages <= buffer.first + buffer.messages.len() as u64
    }

    /// Whether there is nothing to resume, not even an error.
    pub(super) fn is_dropped(&self) -> bool {
        let buffer = self.lock();
        buffer.answer_dropped && buffer.messages.is_empty()
    }

    /// Wakes the reader.
    fn notify(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.buffer)
    }

    /// Whether the message is the last of its stream.
    fn is_last(message: &Outgoing) -> bool {
        message.kind != MessageKind::ServerInitiated
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(rank) = self.lock().rank {
            self.retention.dequeue(rank);
        }
    }
}

impl Buffer {
    fn push(&mut self, message: Outgoing, taken: Taken) {
        self.bytes += message.text.len();
        self.messages.push_back((message, taken));
    }

    fn pop(&mut self) {
        if let Some((dropped, _)) = self.messages.pop_front() {
            self.bytes -= dropped.text.len();
            self.first += 1;
        }
    }

    fn clear(&mut self) {
        self.first += self.messages.len() as u64;
        self.messages.clear();
        self.bytes = 0;
    }
}

pub(super) struct ReplayReader {
    replay: Arc<Replay>,
    mine: u64,
    next: u64,
}

/// The next item of one reader.
enum Next {
    Message(EventId, Outgoing),
    Nothing,
    /// The stream has ended, or another reader replaced this one.
    Closed,
}

impl ReplayReader {
    /// The next message and its event id. `None`: the stream has ended, or another reader replaced
    /// this one.
    pub(super) async fn next(&mut self) -> Option<(EventId, Outgoing)> {
        // Subscribed before the check, so that no notification in between is lost.
        let mut version = self.replay.version.subscribe();
        loop {
            match self.take() {
                Next::Message(place, message) => return Some((place, message)),
                Next::Nothing => version.changed().await.ok()?,
                Next::Closed => return None,
            }
        }
    }

    /// The position before the next message, for a priming event.
    pub(super) fn event_id(&self) -> EventId {
        EventId { stream: self.replay.number, after: self.next }
    }

    /// Atomic with the check that it is still the reader: no message is delivered twice.
    fn take(&mut self) -> Next {
        let mut buffer = self.replay.lock();
        if buffer.reader != self.mine {
            return Next::Closed;
        }
        self.next = self.next.max(buffer.first);
        let at = usize::try_from(self.next - buffer.first).ok();
        let Some((message, _)) = at.and_then(|at| buffer.messages.get(at)) else {
            buffer.caught_up = !buffer.ended;
            return if buffer.ended { Next::Closed } else { Next::Nothing };
        };
        let message = message.clone();
        self.next += 1;
        buffer.read = buffer.read.max(self.next);
        buffer.caught_up = false;
        self.replay.update_rank(&mut buffer);
        Next::Message(EventId { stream: self.replay.number, after: self.next }, message)
    }

    /// Whether the message is the last of its stream.
    pub(super) fn is_last(message: &Outgoing) -> bool {
        Replay::is_last(message)
    }
}

impl Drop for ReplayReader {
    fn drop(&mut self) {
        let mut buffer = self.replay.lock();
        if buffer.reader == self.mine {
            buffer.caught_up = false;
        }
    }
}

#[cfg(test)]
mod tests;

//! The messages of one stream of a session, kept so that a client which lost the connection
//! can ask for those that it missed.
//!
//! How much all streams keep together is the matter of `shelf`. Who comes back for an answer
//! that had to give room gets an error in its place.
//!
//! Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::shelf::{Rank, Shelf, Stage};
use crate::budget::Taken;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, INTERNAL_ERROR, RequestId};
use crate::server::{Kind, Outgoing};

/// Messages that are kept of one stream, and their bytes; the newest is kept in any case.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 1 << 20;
/// What a message takes beside its text, about.
const BESIDE: usize = 128;
/// Bytes of an id that is kept for the error in the place of its answer.
const ID: usize = 256;

/// One stream: that of a POST, or the session's own.
pub(super) struct Replay {
    number: u64,
    shelf: Arc<Shelf>,
    /// Of the one request that it answers.
    request: Option<RequestId>,
    kept: Mutex<Kept>,
    /// Grows with each message, with each new reader, and at the end.
    news: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    messages: VecDeque<(Outgoing, Taken)>,
    /// Of their texts.
    bytes: usize,
    /// The place of the first one that is kept.
    first: u64,
    /// The place after the last one that was given to a reader.
    read: u64,
    ended: bool,
    /// Its answer had to go; there may be an error in its place, which stays.
    gone: bool,
    /// Who reads now; who read before stops.
    reader: u64,
    /// The reader has all that there was, and takes the next message at once.
    waits: bool,
    rank: Option<Rank>,
}

/// Where in which stream, as clients are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) stream: u64,
    pub(super) after: u64,
}

impl Place {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, after) = text.split_once('-')?;
        Some(Self { stream: stream.parse().ok()?, after: after.parse().ok()? })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.stream, self.after)
    }
}

impl Replay {
    /// Keeps what comes from `messages` until there are no more. `request`: the one that is
    /// answered there, if it is one.
    pub(super) fn of(
        number: u64,
        shelf: Arc<Shelf>,
        request: Option<RequestId>,
        mut messages: mpsc::Receiver<Outgoing>,
    ) -> Arc<Self> {
        let replay = Arc::new(Self {
            number,
            shelf,
            request: request.filter(|id| id.as_json().len() <= ID),
            kept: Mutex::default(),
            news: watch::Sender::new(0),
        });
        let keeper = replay.clone();
        tokio::spawn(async move {
            while let Some(mut message) = messages.recv().await {
                // What is kept to be asked for again has bounds of its own.
                message.release();
                keeper.keep(message);
            }
            let mut kept = keeper.lock();
            kept.ended = true;
            keeper.stand(&mut kept);
            drop(kept);
            keeper.tell();
        });
        replay
    }

    fn keep(self: &Arc<Self>, message: Outgoing) {
        let bytes = message.text.len();
        let taken = self.shelf.room(bytes + BESIDE);
        let mut kept = self.lock();
        match taken {
            Some(taken) => kept.push(message, taken),
            // It is out of here in a moment.
            None if kept.waits => kept.push(message, self.shelf.beyond(bytes + BESIDE)),
            None => {
                kept.clear();
                kept.first += 1;
                if Self::is_last(&message) {
                    self.apologize(&mut kept);
                }
            }
        }
        while kept.messages.len() > 1 && (kept.messages.len() > KEPT || kept.bytes > KEPT_BYTES) {
            kept.pop();
        }
        self.stand(&mut kept);
        drop(kept);
        self.tell();
    }

    /// Drops what is kept, for the room that it takes.
    pub(super) fn give_up(self: &Arc<Self>) {
        let mut kept = self.lock();
        // Whoever asks for room has taken it out.
        kept.rank = None;
        let answered = kept.messages.back().is_some_and(|(message, _)| Self::is_last(message));
        kept.clear();
        if answered {
            self.apologize(&mut kept);
        }
        self.stand(&mut kept);
    }

    /// Puts an error into the last place, that of the answer.
    fn apologize(&self, kept: &mut Kept) {
        kept.gone = true;
        let Some(id) = &self.request else { return };
        let detail = "Internal error: the answer was dropped before it was read, since too many wait to be read; \
                      send the request again";
        let error = ErrorObject::new(INTERNAL_ERROR, detail, json!({ "reason": "answer_dropped" }));
        let text = encode::error(Some(id), UnreadableId::Omit, &error);
        let taken = self.shelf.beyond(text.len() + BESIDE);
        kept.first -= 1;
        kept.push(Outgoing::new(text, Kind::Error { code: INTERNAL_ERROR, of_envelope: false }), taken);
    }

    /// Sees that it stands where it belongs among those that may have to give room.
    fn stand(self: &Arc<Self>, kept: &mut Kept) {
        let all_read = kept.read == kept.first + kept.messages.len() as u64;
        let stage = match (kept.ended, all_read) {
            (true, true) => Stage::Given,
            (true, false) => Stage::Ended,
            (false, _) => Stage::Running,
        };
        if let Some(rank) = kept.rank.take() {
            if rank.0 == stage {
                kept.rank = Some(rank);
                return;
            }
            self.shelf.take_out(rank);
        }
        if !kept.messages.is_empty() && !kept.gone {
            kept.rank = Some(self.shelf.put(stage, self));
        }
    }

    /// Reads on after a place, or after what was read last. Who was reading stops.
    pub(super) fn reader(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mut kept = self.lock();
        kept.reader += 1;
        kept.waits = false;
        // A place that has not been yet is of another session.
        let next = after.unwrap_or(kept.read).min(kept.first + kept.messages.len() as u64);
        let mine = kept.reader;
        drop(kept);
        self.tell();
        Reader { replay: self.clone(), mine, next }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Whether there is nothing to come back for, not even an error.
    pub(super) fn is_gone(&self) -> bool {
        let kept = self.lock();
        kept.gone && kept.messages.is_empty()
    }

    /// Wakes whoever reads.
    fn tell(&self) {
        self.news.send_modify(|news| *news += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether the message is the last of its stream.
    fn is_last(message: &Outgoing) -> bool {
        message.kind != Kind::Said
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(rank) = self.lock().rank {
            self.shelf.take_out(rank);
        }
    }
}

impl Kept {
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

pub(super) struct Reader {
    replay: Arc<Replay>,
    mine: u64,
    next: u64,
}

/// What there is for one reader.
enum Next {
    Message(Place, Outgoing),
    Nothing,
    /// There will be nothing, or another reader came.
    Over,
}

impl Reader {
    /// The next message and its place. `None`: there will be none, or another reader came.
    pub(super) async fn next(&mut self) -> Option<(Place, Outgoing)> {
        // Before the look, so that what is told meanwhile is not missed.
        let mut news = self.replay.news.subscribe();
        loop {
            match self.take() {
                Next::Message(place, message) => return Some((place, message)),
                Next::Nothing => news.changed().await.ok()?,
                Next::Over => return None,
            }
        }
    }

    /// The place of the next message, for an event that says only where it is.
    pub(super) fn place(&self) -> Place {
        Place { stream: self.replay.number, after: self.next }
    }

    /// In one step with the look whether it is still the reader: no message is for two.
    fn take(&mut self) -> Next {
        let mut kept = self.replay.lock();
        if kept.reader != self.mine {
            return Next::Over;
        }
        self.next = self.next.max(kept.first);
        let at = usize::try_from(self.next - kept.first).ok();
        let Some((message, _)) = at.and_then(|at| kept.messages.get(at)) else {
            kept.waits = !kept.ended;
            return if kept.ended { Next::Over } else { Next::Nothing };
        };
        let message = message.clone();
        self.next += 1;
        kept.read = kept.read.max(self.next);
        kept.waits = false;
        self.replay.stand(&mut kept);
        Next::Message(Place { stream: self.replay.number, after: self.next }, message)
    }

    /// Whether the message is the last of its stream.
    pub(super) fn is_last(message: &Outgoing) -> bool {
        Replay::is_last(message)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut kept = self.replay.lock();
        if kept.reader == self.mine {
            kept.waits = false;
        }
    }
}

#[cfg(test)]
mod tests;

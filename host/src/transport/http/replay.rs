//! The messages of one stream of a session, kept so that a client which lost the connection
//! can ask for those that it missed.
//!
//! Source: MCP 2025-11-25, basic/transports, "Resumability and Redelivery".

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{mpsc, watch};

use crate::server::{Kind, Outgoing};

/// Messages that are kept of one stream, and their bytes; the newest is kept in any case.
const KEPT: usize = 256;
const KEPT_BYTES: usize = 1 << 20;

/// One stream: that of a POST, or the session's own.
pub(super) struct Replay {
    number: u64,
    kept: Mutex<Kept>,
    /// Grows with each message and at the end.
    news: watch::Sender<u64>,
    /// Who reads now; who read before stops.
    reader: watch::Sender<u64>,
}

#[derive(Default)]
struct Kept {
    messages: VecDeque<Outgoing>,
    bytes: usize,
    /// The place of the first one that is kept.
    first: u64,
    /// The place after the last one that was given to a reader.
    read: u64,
    ended: bool,
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
    /// Keeps what comes from `messages` until there are no more.
    pub(super) fn of(number: u64, mut messages: mpsc::Receiver<Outgoing>) -> Arc<Self> {
        let replay = Arc::new(Self {
            number,
            kept: Mutex::default(),
            news: watch::Sender::new(0),
            reader: watch::Sender::new(0),
        });
        let keeper = replay.clone();
        tokio::spawn(async move {
            while let Some(mut message) = messages.recv().await {
                // What is kept to be asked for again has bounds of its own.
                message.release();
                keeper.keep(message);
            }
            keeper.lock().ended = true;
            keeper.news.send_modify(|news| *news += 1);
        });
        replay
    }

    fn keep(&self, message: Outgoing) {
        let mut kept = self.lock();
        kept.bytes += message.text.len();
        kept.messages.push_back(message);
        while kept.messages.len() > 1 && (kept.messages.len() > KEPT || kept.bytes > KEPT_BYTES) {
            if let Some(dropped) = kept.messages.pop_front() {
                kept.bytes -= dropped.text.len();
                kept.first += 1;
            }
        }
        drop(kept);
        self.news.send_modify(|news| *news += 1);
    }

    /// Reads on after a place, or after what was read last. Who was reading stops.
    pub(super) fn reader(self: &Arc<Self>, after: Option<u64>) -> Reader {
        let mine = self.reader.borrow().wrapping_add(1);
        self.reader.send_replace(mine);
        let kept = self.lock();
        // A place that has not been yet is of another session.
        let next = after.unwrap_or(kept.read).min(kept.first + kept.messages.len() as u64);
        drop(kept);
        Reader { replay: self.clone(), mine, next }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

pub(super) struct Reader {
    replay: Arc<Replay>,
    mine: u64,
    next: u64,
}

impl Reader {
    /// The next message and its place. `None`: there will be none, or another reader came.
    pub(super) async fn next(&mut self) -> Option<(Place, Outgoing)> {
        let mut news = self.replay.news.subscribe();
        let mut reader = self.replay.reader.subscribe();
        loop {
            if *reader.borrow_and_update() != self.mine {
                return None;
            }
            if let Some(found) = self.take() {
                return Some(found);
            }
            if self.replay.has_ended() {
                // Between the look and the end one more may have come.
                return self.take();
            }
            tokio::select! {
                changed = news.changed() => changed.ok()?,
                changed = reader.changed() => changed.ok()?,
            }
        }
    }

    /// The place of the next message, for an event that says only where it is.
    pub(super) fn place(&self) -> Place {
        Place { stream: self.replay.number, after: self.next }
    }

    fn take(&mut self) -> Option<(Place, Outgoing)> {
        let mut kept = self.replay.lock();
        self.next = self.next.max(kept.first);
        let message = kept.messages.get(usize::try_from(self.next - kept.first).ok()?)?.clone();
        self.next += 1;
        kept.read = kept.read.max(self.next);
        Some((Place { stream: self.replay.number, after: self.next }, message))
    }

    /// Whether the message is the last of its stream.
    pub(super) fn is_last(message: &Outgoing) -> bool {
        message.kind != Kind::Said
    }
}

//! Sessions of the handshake revisions: who they belong to, their streams, and their end.
//!
//! Source: MCP 2025-11-25, basic/transports, "Session Management".

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::places::gives_way;
use super::replay::{Place, Replay};
use super::shelf::{Shelf, Shelves};
use crate::jsonrpc::RequestId;
use crate::server::{Connection, Outgoing, Server};
use crate::transport::http::caller::Caller;

/// Messages that were made and not yet kept.
const OUTBOX: usize = 64;
/// Streams of one session that have ended and can still be asked for, if `shelf` has room for them.
const ENDED: usize = 32;
/// Between two looks at all sessions, at least.
const OFTEN: Duration = Duration::from_millis(50);

/// Bounds of all sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// Where there are as many, whoever has most of them gives one up for somebody who has fewer.
    pub most: usize,
    /// How long a client may take to say that it is initialized.
    pub handshake: Duration,
    /// A session that nobody uses ends after this.
    pub idle: Duration,
    /// A stream whose answer takes longer is closed, and its client asks for the rest; where
    /// the revision has that (2025-11-25). `None`: it stays open.
    pub poll_after: Option<Duration>,
    /// Bytes of messages that are kept to be asked for again, of all sessions.
    pub kept: usize,
    /// The same of one caller.
    pub kept_of_caller: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            most: 1024,
            handshake: Duration::from_secs(30),
            idle: Duration::from_secs(15 * 60),
            poll_after: None,
            kept: 64 << 20,
            kept_of_caller: 16 << 20,
        }
    }
}

/// Where the messages of one POST are put, and where they come out.
pub(super) type Channel = (mpsc::Sender<Outgoing>, mpsc::Receiver<Outgoing>);

pub(super) struct Sessions {
    settings: SessionSettings,
    all: Mutex<HashMap<String, Arc<Session>>>,
    shelves: Arc<Shelves>,
}

pub(super) struct Session {
    pub(super) id: String,
    principal: Arc<str>,
    caller: Arc<str>,
    pub(super) connection: Arc<Connection>,
    /// What belongs to no request.
    pub(super) own: Arc<Replay>,
    streams: Mutex<Vec<(u64, Arc<Replay>)>>,
    next: AtomicU64,
    shelf: Arc<Shelf>,
    opened: Instant,
    used: Mutex<Instant>,
    /// Cancelled at its end, for streams that would wait for more.
    ended: CancellationToken,
}

/// What there is at a place.
pub(super) enum At {
    Kept(Arc<Replay>),
    /// It is kept no more.
    Gone,
    /// There was no such stream.
    Never,
}

impl Sessions {
    pub(super) fn new(settings: SessionSettings) -> Self {
        let shelves = Shelves::new(settings.kept, settings.kept_of_caller);
        Self { settings, all: Mutex::default(), shelves }
    }

    /// A session that is not in service yet. `None`: there are as many as may be, and nobody has
    /// more of them than this caller.
    pub(super) fn open(&self, server: &Arc<Server>, caller: &Caller) -> Option<Arc<Session>> {
        self.end_idle();
        self.place(&self.lock(), &caller.key)?;
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).ok()?;
        let (outbox, messages) = mpsc::channel(OUTBOX);
        let shelf = self.shelves.of(&caller.key);
        Some(Arc::new(Session {
            id: format!("{:032x}", u128::from_be_bytes(secret)),
            principal: caller.principal.clone(),
            caller: caller.key.clone(),
            connection: server.connect_for(outbox, &caller.principal, &caller.key),
            own: Replay::of(0, shelf.clone(), None, messages),
            streams: Mutex::default(),
            next: AtomicU64::new(1),
            shelf,
            opened: Instant::now(),
            used: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
        }))
    }

    pub(super) fn poll_after(&self) -> Option<Duration> {
        self.settings.poll_after
    }

    /// Puts a session in service, if need be in the place of another. `false`: others came first.
    pub(super) fn put(&self, session: &Arc<Session>) -> bool {
        let mut all = self.lock();
        let Some(place) = self.place(&all, &session.caller) else { return false };
        let gone = place.and_then(|id| all.remove(&id));
        all.insert(session.id.clone(), session.clone());
        drop(all);
        if let Some(gone) = gone {
            tracing::debug!("ended a session of the caller that has most, for another caller's");
            gone.end();
        }
        true
    }

    /// Whether there is a place for one more of that caller, and whose session has to go for it:
    /// of whoever has most, the one that was used least lately, and one in use last of all.
    fn place(&self, all: &HashMap<String, Arc<Session>>, caller: &str) -> Option<Option<String>> {
        if all.len() < self.settings.most {
            return Some(None);
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for session in all.values() {
            *counts.entry(&session.caller).or_default() += 1;
        }
        let mine = counts.get(caller).copied().unwrap_or(0);
        let (holder, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        if !gives_way(most, mine) {
            return None;
        }
        let theirs = all.values().filter(|session| *session.caller == *holder);
        let first = theirs.min_by_key(|session| (Arc::strong_count(session) > 1, session.last_used()))?;
        Some(Some(first.id.clone()))
    }

    /// The session of that id, if it is this principal's.
    pub(super) fn get(&self, id: &str, principal: &str) -> Option<Arc<Session>> {
        let session = self.lock().get(id).filter(|session| *session.principal == *principal).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session; what runs in it is cancelled.
    pub(super) fn end(&self, session: &Session) {
        self.lock().remove(&session.id);
        session.end();
    }

    /// Lets all sessions finish what runs.
    pub(super) async fn close(&self, grace: Duration) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        let closing = all.iter().map(|session| session.connection.close(grace));
        futures_util::future::join_all(closing).await;
    }

    /// Ends idle sessions whether others come or not. One ends a quarter of the idle time late
    /// or early: only when it is looked at is it seen that somebody reads its streams.
    pub(super) async fn keep_ending_idle(&self) -> Infallible {
        loop {
            let settings = &self.settings;
            tokio::time::sleep((settings.idle.min(settings.handshake) / 4).max(OFTEN)).await;
            self.end_idle();
        }
    }

    /// Ends what nobody has used for long, and what was never begun.
    fn end_idle(&self) {
        let ago = |time| Instant::now().checked_sub(time);
        let (idle, handshake) = (ago(self.settings.idle), ago(self.settings.handshake));
        let mut all = self.lock();
        // Whoever works for it or reads a stream of it holds it too.
        for session in all.values().filter(|session| Arc::strong_count(session) > 1) {
            session.touch();
        }
        let is_over = |session: &Session| {
            idle.is_some_and(|idle| session.last_used() < idle)
                || handshake.is_some_and(|handshake| session.opened < handshake) && !session.connection.is_initialized()
        };
        let ended: Vec<_> = all.values().filter(|session| is_over(session)).cloned().collect();
        for session in &ended {
            all.remove(&session.id);
        }
        drop(all);
        for session in ended {
            session.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Session {
    pub(super) fn channel() -> Channel {
        mpsc::channel(OUTBOX)
    }

    /// A stream of them; `request` is the one that it answers, if it is one.
    pub(super) fn stream(&self, request: Option<RequestId>, messages: mpsc::Receiver<Outgoing>) -> Arc<Replay> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let replay = Replay::of(number, self.shelf.clone(), request, messages);
        let mut streams = self.streams();
        streams.push((number, replay.clone()));
        let ended = streams.iter().filter(|(_, replay)| replay.has_ended()).count();
        if ended > ENDED
            && let Some(oldest) = streams.iter().position(|(_, replay)| replay.has_ended())
        {
            streams.remove(oldest);
        }
        replay
    }

    /// Forgets a stream that was answered whole.
    pub(super) fn forget(&self, replay: &Arc<Replay>) {
        self.streams().retain(|(_, other)| !Arc::ptr_eq(other, replay));
    }

    /// The stream that a client wants to go on reading.
    pub(super) fn at(&self, place: Place) -> At {
        if place.stream == 0 {
            return At::Kept(self.own.clone());
        }
        let streams = self.streams();
        match streams.iter().find(|(number, _)| *number == place.stream) {
            Some((_, replay)) if !replay.is_gone() => At::Kept(replay.clone()),
            None if place.stream >= self.next.load(Ordering::Relaxed) => At::Never,
            _ => At::Gone,
        }
    }

    fn end(&self) {
        self.connection.abandon();
        self.ended.cancel();
    }

    /// Resolves when the session has ended.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        self.ended.clone().cancelled_owned()
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn streams(&self) -> MutexGuard<'_, Vec<(u64, Arc<Replay>)>> {
        self.streams.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests;

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

use super::caller::Caller;
use super::replay::{Place, Replay};
use crate::server::{Connection, Outgoing, Server};

/// Messages that were made and not yet kept.
const OUTBOX: usize = 64;
/// Streams of one session that have ended and can still be asked for.
const ENDED: usize = 32;
/// Between two looks at all sessions, at least.
const OFTEN: Duration = Duration::from_millis(50);

/// Bounds of all sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    pub most: usize,
    /// A session that nobody uses ends after this.
    pub idle: Duration,
    /// A stream whose answer takes longer is closed, and its client asks for the rest; where
    /// the revision has that (2025-11-25). `None`: it stays open.
    pub poll_after: Option<Duration>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { most: 1024, idle: Duration::from_secs(15 * 60), poll_after: None }
    }
}

/// Where the messages of one POST are put, and where they come out.
pub(super) type Channel = (mpsc::Sender<Outgoing>, mpsc::Receiver<Outgoing>);

pub(super) struct Sessions {
    settings: SessionSettings,
    all: Mutex<HashMap<String, Arc<Session>>>,
}

pub(super) struct Session {
    pub(super) id: String,
    principal: Arc<str>,
    pub(super) connection: Arc<Connection>,
    /// What belongs to no request.
    pub(super) own: Arc<Replay>,
    streams: Mutex<Vec<(u64, Arc<Replay>)>>,
    next: AtomicU64,
    used: Mutex<Instant>,
    /// Cancelled at its end, for streams that would wait for more.
    ended: CancellationToken,
}

impl Sessions {
    pub(super) fn new(settings: SessionSettings) -> Self {
        Self { settings, all: Mutex::default() }
    }

    /// A session that is not in service yet. `None`: there are as many as may be.
    pub(super) fn open(&self, server: &Arc<Server>, caller: &Caller) -> Option<Arc<Session>> {
        self.end_idle();
        if self.lock().len() >= self.settings.most {
            return None;
        }
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).ok()?;
        let (outbox, messages) = mpsc::channel(OUTBOX);
        Some(Arc::new(Session {
            id: format!("{:032x}", u128::from_be_bytes(secret)),
            principal: caller.principal.clone(),
            connection: server.connect_for(outbox, &caller.principal, &caller.key),
            own: Replay::of(0, messages),
            streams: Mutex::default(),
            next: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
        }))
    }

    pub(super) fn poll_after(&self) -> Option<Duration> {
        self.settings.poll_after
    }

    pub(super) fn put(&self, session: &Arc<Session>) {
        self.lock().insert(session.id.clone(), session.clone());
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
            tokio::time::sleep((self.settings.idle / 4).max(OFTEN)).await;
            self.end_idle();
        }
    }

    /// Ends what nobody has used for long.
    fn end_idle(&self) {
        let before = Instant::now().checked_sub(self.settings.idle);
        let mut all = self.lock();
        // Whoever works for it or reads a stream of it holds it too.
        for session in all.values().filter(|session| Arc::strong_count(session) > 1) {
            session.touch();
        }
        let idle = |session: &Session| before.is_some_and(|before| session.last_used() < before);
        let ended: Vec<_> = all.values().filter(|session| idle(session)).cloned().collect();
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

    /// A stream of them.
    pub(super) fn stream(&self, messages: mpsc::Receiver<Outgoing>) -> Arc<Replay> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let replay = Replay::of(number, messages);
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
    pub(super) fn at(&self, place: Place) -> Option<Arc<Replay>> {
        if place.stream == 0 {
            return Some(self.own.clone());
        }
        self.streams().iter().find(|(number, _)| *number == place.stream).map(|(_, replay)| replay.clone())
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

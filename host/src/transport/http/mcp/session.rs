//! Sessions of the handshake revisions: their owners, streams and expiry.
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

use super::replay::{EventId, Replay};
use super::retention::{CallerRetention, Retention};
use super::stream_limit::should_evict;
use crate::identity::Identity;
use crate::jsonrpc::RequestId;
use crate::server::{Connection, Counted, OpenKind, Outgoing, Server};
use crate::sync::lock;
use crate::transport::http::caller::Caller;

/// Capacity of the channel to `Replay`, in messages.
const OUTBOX: usize = 64;
/// Maximum ended streams of one session that can still be resumed, within the limits of `retention`.
const MAX_ENDED: usize = 32;
/// Minimum time between two sweeps for idle sessions.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(50);

/// Limits of all sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    /// Maximum sessions. At the limit, the caller with the most loses one to a caller with fewer.
    pub max_sessions: usize,
    /// How long a client may take to send `notifications/initialized`.
    pub handshake: Duration,
    /// An unused session ends after this.
    pub idle: Duration,
    /// A stream is closed after this time, and its client resumes it, where the revision has that
    /// (2025-11-25). `None`: it stays open.
    pub poll_after: Option<Duration>,
    /// Maximum bytes of messages retained for resumption, of all sessions.
    pub max_retained: usize,
    /// The same per caller.
    pub max_retained_per_caller: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            max_sessions: 1024,
            handshake: Duration::from_secs(30),
            idle: Duration::from_secs(15 * 60),
            poll_after: None,
            max_retained: 64 << 20,
            max_retained_per_caller: 16 << 20,
        }
    }
}

/// The channel for the messages of one POST.
pub(super) type Channel = (mpsc::Sender<Outgoing>, mpsc::Receiver<Outgoing>);

pub(super) struct Sessions {
    settings: SessionSettings,
    all: Mutex<HashMap<String, Arc<Session>>>,
    retention: Arc<Retention>,
}

pub(super) struct Session {
    pub(super) id: String,
    /// Who opened it.
    owner: Arc<Identity>,
    caller: Arc<str>,
    pub(super) connection: Arc<Connection>,
    /// The stream of messages outside of requests.
    pub(super) own: Arc<Replay>,
    streams: Mutex<Vec<(u64, Arc<Replay>)>>,
    next: AtomicU64,
    retention: Arc<CallerRetention>,
    opened: Instant,
    used: Mutex<Instant>,
    /// Cancelled when the session ends, to end its streams.
    ended: CancellationToken,
    #[expect(dead_code, reason = "counts until it is dropped")]
    counted: Counted,
}

impl Sessions {
    pub(super) fn new(settings: SessionSettings) -> Self {
        let retention = Retention::new(settings.max_retained, settings.max_retained_per_caller);
        Self { settings, all: Mutex::default(), retention }
    }

    /// A session that is not active yet. `None`: the limit is reached, and no caller has enough more
    /// sessions than this one.
    pub(super) fn open(&self, server: &Arc<Server>, caller: &Caller) -> Option<Arc<Session>> {
        self.end_idle();
        self.victim_for(&self.lock(), &caller.key)?;
        let id = server.new_session_id().ok()?;
        let (outbox, messages) = mpsc::channel(OUTBOX);
        let retention = self.retention.of(&caller.key);
        Some(Arc::new(Session {
            id,
            owner: caller.identity.clone(),
            caller: caller.key.clone(),
            connection: server.connect_for(outbox, &caller.identity, &caller.key),
            own: Replay::of(0, retention.clone(), None, messages),
            streams: Mutex::default(),
            next: AtomicU64::new(1),
            retention,
            opened: Instant::now(),
            used: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
            counted: server.opened(OpenKind::Session),
        }))
    }

    pub(super) fn poll_after(&self) -> Option<Duration> {
        self.settings.poll_after
    }

    /// Activates a session; evicts another one if necessary. `false`: the limit was reached meanwhile.
    pub(super) fn activate(&self, session: &Arc<Session>) -> bool {
        let mut all = self.lock();
        let Some(evicted) = self.victim_for(&all, &session.caller) else { return false };
        let evicted = evicted.and_then(|id| all.remove(&id));
        all.insert(session.id.clone(), session.clone());
        drop(all);
        if let Some(evicted) = evicted {
            tracing::debug!("evicted a session of the caller with the most, for another caller");
            evicted.end();
        }
        true
    }

    /// The session to evict for a new session of that caller: the least recently used one of the caller
    /// with the most, and one in use only if all are. `Some(None)`: no eviction is needed; `None`: none
    /// is possible.
    fn victim_for(&self, all: &HashMap<String, Arc<Session>>, caller: &str) -> Option<Option<String>> {
        if all.len() < self.settings.max_sessions {
            return Some(None);
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for session in all.values() {
            *counts.entry(&session.caller).or_default() += 1;
        }
        let mine = counts.get(caller).copied().unwrap_or(0);
        let (holder, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        if !should_evict(most, mine) {
            return None;
        }
        let theirs = all.values().filter(|session| *session.caller == *holder);
        let first = theirs.min_by_key(|session| (Arc::strong_count(session) > 1, session.last_used()))?;
        Some(Some(first.id.clone()))
    }

    /// The session of that id, if it is theirs.
    pub(super) fn get(&self, id: &str, name: &str) -> Option<Arc<Session>> {
        let session = self.lock().get(id).filter(|session| **session.owner.name() == *name).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends a session; what runs in it is cancelled.
    pub(super) fn end(&self, session: &Session) {
        self.lock().remove(&session.id);
        session.end();
    }

    /// Ends the sessions of these owners.
    pub(super) fn end_of(&self, is_over: impl Fn(&Identity) -> bool) {
        let ended: Vec<_> = self.lock().extract_if(|_, session| is_over(&session.owner)).collect();
        for (_, session) in ended {
            session.end();
        }
    }

    /// Closes all sessions; running requests get `grace` to finish.
    pub(super) async fn close(&self, grace: Duration) {
        let all: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        let closing = all.iter().map(|session| session.connection.close(grace));
        futures_util::future::join_all(closing).await;
    }

    /// Ends idle sessions periodically. Precise to a quarter of the idle time: that a stream is being
    /// read is only noticed by a sweep.
    pub(super) async fn sweep_idle(&self) -> Infallible {
        loop {
            let settings = &self.settings;
            tokio::time::sleep((settings.idle.min(settings.handshake) / 4).max(MIN_SWEEP_INTERVAL)).await;
            self.end_idle();
        }
    }

    /// Ends sessions that are idle or whose handshake was not completed.
    fn end_idle(&self) {
        let ago = |time| Instant::now().checked_sub(time);
        let (idle, handshake) = (ago(self.settings.idle), ago(self.settings.handshake));
        let mut all = self.lock();
        // Running requests and open streams hold a reference.
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

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        lock(&self.all)
    }
}

impl Session {
    pub(super) fn channel() -> Channel {
        mpsc::channel(OUTBOX)
    }

    /// Adds a stream; `request` is the one that it answers, if it is a single one.
    pub(super) fn stream(&self, request: Option<RequestId>, messages: mpsc::Receiver<Outgoing>) -> Arc<Replay> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let replay = Replay::of(number, self.retention.clone(), request, messages);
        let mut streams = self.streams();
        streams.push((number, replay.clone()));
        let ended = streams.iter().filter(|(_, replay)| replay.has_ended()).count();
        if ended > MAX_ENDED
            && let Some(oldest) = streams.iter().position(|(_, replay)| replay.has_ended())
        {
            streams.remove(oldest);
        }
        replay
    }

    /// Removes a stream that was answered by a single message.
    pub(super) fn forget(&self, replay: &Arc<Replay>) {
        self.streams().retain(|(_, other)| !Arc::ptr_eq(other, replay));
    }

    /// The stream that a client wants to resume after that event, if it had the event and is retained.
    pub(super) fn find(&self, id: EventId) -> Option<Arc<Replay>> {
        let stream = match id.stream {
            0 => Some(self.own.clone()),
            number => self.streams().iter().find(|(other, _)| *other == number).map(|(_, replay)| replay.clone()),
        };
        stream.filter(|replay| !replay.is_dropped() && replay.has_had(id.after))
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
        *lock(&self.used) = Instant::now();
    }

    fn last_used(&self) -> Instant {
        *lock(&self.used)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<(u64, Arc<Replay>)>> {
        lock(&self.streams)
    }
}

#[cfg(test)]
mod tests;

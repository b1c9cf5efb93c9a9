//! A store in a bucket of NATS JetStream, for several machines.
//!
//! An entry is the last message of a subject. Writes have a condition that the server checks; what can only be known by
//! looking at all entries is known by an index in each process. A server that is away is an error within the timeouts; the
//! connection is made again when it is needed.

mod api;
mod clock;
mod credentials;
mod entry;
mod failure;
mod follower;
mod index;
mod link;
mod parts;
mod session;
mod settings;
mod streams;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::{Changed, Entry, Expected, Keys, MAX_KEY, Page, Put, Store, StoreError, Usage, now};
use crate::json;
use crate::sync::{Mutex, lock};
use api::{Done, Found, Written};
use entry::Last;
use failure::ApiError;
use follower::View;
use link::Link;
pub use settings::NatsSettings;

/// Changed keys that a slow watcher may lag behind.
const BACKLOG: usize = 4096;
/// Requests of one call at the same time.
const AT_ONCE: usize = 32;
/// How often a call begins anew because others write meanwhile.
const ATTEMPTS: usize = 16;
/// How soon a write is sent again while another one is being agreed on.
const AGAIN: Duration = Duration::from_millis(10);
/// How often it is looked for parts that nobody names.
const LOOK_FOR_ORPHANS: Duration = Duration::from_secs(60 * 60);

/// A store in a bucket, which is connected when it is first needed.
pub struct Nats {
    link: Arc<Link>,
    view: Arc<View>,
    changes: broadcast::Sender<Changed>,
    /// Once somebody needs the index.
    follower: Mutex<Option<AbortOnDropHandle<()>>>,
    /// When it was looked for orphans.
    looked: Mutex<Option<Instant>>,
}

impl Nats {
    pub fn new(settings: NatsSettings) -> Arc<Self> {
        let (changes, _) = broadcast::channel(BACKLOG);
        let (link, view) = (Link::new(settings), View::new());
        Arc::new(Self { link, view, changes, follower: Mutex::default(), looked: Mutex::default() })
    }

    fn subject(&self, key: &str) -> String {
        format!("{}{}", self.link.settings.entry_subjects(), entry::token(key))
    }

    /// The last message of a key, as the leader of the stream has it.
    async fn last(&self, deadline: Instant, key: &str) -> Result<Option<Last>, StoreError> {
        let settings = &self.link.settings;
        let subject = format!("$JS.API.STREAM.MSG.GET.{}", settings.entries());
        let body = format!("{{\"last_by_subj\":{}}}", json::quote(&self.subject(key)));
        match self.link.ask::<Found>(deadline, &subject, &[], body.as_bytes()).await? {
            Ok(found) => Last::of(&found.message).map(Some).map_err(StoreError),
            Err(error) if error.err_code == ApiError::NO_MESSAGE => Ok(None),
            Err(error) => Err(self.link.refused(&error)),
        }
    }

    /// The entry of a key.
    async fn read(&self, deadline: Instant, key: &str) -> Result<Option<Entry>, StoreError> {
        for _ in 0..ATTEMPTS {
            let last = self.last(deadline, key).await?;
            let Some(Last { sequence, head, data }) = last.filter(|last| !last.head.is_removed) else {
                return Ok(None);
            };
            let value = match &head.parts {
                Some(parts) => parts::read(&self.link, deadline, parts).await?,
                None => Some(data),
            };
            if let Some(value) = value {
                return Ok(Some(Entry { key: key.to_owned(), value, version: sequence, expires: head.expires }));
            }
            // It has been written again meanwhile.
        }
        let advice = "remove the task, or restore the stream of parts too";
        Err(failure::with_advice("parts of a value are gone", &self.link.settings, advice))
    }

    /// Writes a message if the last one of its subject has that number.
    async fn publish(
        &self,
        deadline: Instant,
        key: &str,
        expected: Option<u64>,
        mut headers: Vec<(&str, String)>,
        payload: &[u8],
    ) -> Result<Result<u64, ApiError>, StoreError> {
        headers.extend(expected.map(|sequence| (entry::EXPECTED, sequence.to_string())));
        let subject = self.subject(key);
        loop {
            match self.link.ask::<Written>(deadline, &subject, &headers, payload).await? {
                Err(error) if error.err_code == ApiError::NOT_READY && Instant::now() < deadline => sleep(AGAIN).await,
                written => return Ok(written.map(|written| written.seq)),
            }
        }
    }

    /// Removes a key if its last message has that number, by another message: so all who follow the stream know.
    async fn remove(&self, deadline: Instant, key: &str, sequence: u64) -> Result<bool, StoreError> {
        let headers = vec![(entry::OPERATION, entry::DELETE.to_owned())];
        match self.publish(deadline, key, Some(sequence), headers, b"").await? {
            Ok(_) => Ok(true),
            Err(error) if error.is_wrong_sequence() => {
                if self.last(deadline, key).await?.is_none() {
                    lock(&self.view.index).lost(key, sequence);
                }
                Ok(false)
            }
            // Others find out when they look for it.
            Err(error) if error.is_full() => {
                let is_removed = self.erase(deadline, sequence).await?;
                lock(&self.view.index).lost(key, sequence);
                Ok(is_removed)
            }
            Err(error) => Err(self.link.refused(&error)),
        }
    }

    /// Removes the message of that number; `false`: it is gone already.
    async fn erase(&self, deadline: Instant, sequence: u64) -> Result<bool, StoreError> {
        let subject = format!("$JS.API.STREAM.MSG.DELETE.{}", self.link.settings.entries());
        let body = format!("{{\"seq\":{sequence},\"no_erase\":true}}");
        match self.link.ask::<Done>(deadline, &subject, &[], body.as_bytes()).await? {
            Ok(Done {}) => Ok(true),
            Err(error) if ApiError::NO_SEQUENCE.contains(&error.err_code) => Ok(false),
            Err(error) => Err(self.link.refused(&error)),
        }
    }

    /// Waits until the index has all that was written before.
    async fn indexed(&self, deadline: Instant) -> Result<u64, StoreError> {
        self.follow();
        let last = follower::last_sequence(&self.link, deadline).await?;
        let waited = self.view.until(last, deadline).await;
        waited.map_err(|why| failure::with_advice(&why, &self.link.settings, failure::IS_IT_THERE))?;
        Ok(last)
    }

    /// Begins to follow the stream, if nobody has.
    fn follow(&self) {
        // Without a runtime there is nobody who could wait.
        if let Ok(runtime) = Handle::try_current() {
            lock(&self.follower).get_or_insert_with(|| {
                let following = follower::follow(self.link.clone(), self.view.clone(), self.changes.clone());
                AbortOnDropHandle::new(runtime.spawn(following))
            });
        }
    }

    /// Removes old messages that say that keys are gone, and what nodes have left behind that died.
    async fn sweep(&self, deadline: Instant, last: u64, limit: usize) -> Result<(), StoreError> {
        let old = now().saturating_sub(self.link.settings.keep_removals.as_millis() as u64);
        let old = lock(&self.view.index).old_removals(old, last, limit);
        let removals = old.into_iter().map(|sequence| async move {
            // Another node may have been faster.
            self.erase(deadline, sequence).await?;
            lock(&self.view.index).forget(sequence);
            Ok::<(), StoreError>(())
        });
        stream::iter(removals).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
        let is_due = |looked: &Option<Instant>| looked.is_none_or(|looked| looked.elapsed() > LOOK_FOR_ORPHANS);
        if !is_due(&lock(&self.looked)) {
            return Ok(());
        }
        let named = lock(&self.view.index).parts();
        for name in parts::orphans(&self.link, deadline, |name| named.contains(name)).await? {
            parts::discard(&self.link, deadline, &name).await?;
        }
        *lock(&self.looked) = Some(Instant::now());
        Ok(())
    }
}

#[async_trait]
impl Store for Nats {
    async fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        self.read(self.link.deadline(), key).await
    }

    async fn put(&self, put: Put) -> Result<Option<u64>, StoreError> {
        let (Put { key, value, expected, expires, .. }, deadline) = (put, self.link.deadline());
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(StoreError(format!("a key has {} bytes, of 1 to {MAX_KEY}", key.len())));
        }
        let parts = parts::write(&self.link, deadline, &value).await?;
        let payload = if parts.is_some() { &[][..] } else { &value };
        let mut headers: Vec<(&str, String)> =
            expires.map(|time| (entry::EXPIRES, time.to_string())).into_iter().collect();
        headers.extend(parts.as_ref().map(|parts| (entry::PARTS, parts.to_string())));
        let mut sequence = match expected {
            Expected::Absent => Some(0),
            Expected::Version(version) => Some(version),
            Expected::Anything => None,
        };
        let mut error = None;
        for _ in 0..ATTEMPTS {
            match self.publish(deadline, &key, sequence, headers.clone(), payload).await? {
                Ok(version) => return Ok(Some(version)),
                Err(wrong) if !wrong.is_wrong_sequence() => {
                    error = Some(self.link.refused(&wrong));
                    break;
                }
                Err(_) if expected != Expected::Absent => break,
                // There is an entry, or a message that says that there was one.
                Err(_) => match self.last(deadline, &key).await? {
                    Some(last) if !last.head.is_removed => break,
                    last => sequence = Some(last.map_or(0, |last| last.sequence)),
                },
            }
        }
        if let Some(parts) = parts {
            // What is left is found after a day.
            let _ = parts::discard(&self.link, deadline, &parts.name).await;
        }
        error.map_or(Ok(None), Err)
    }

    async fn delete(&self, key: &str) -> Result<bool, StoreError> {
        let deadline = self.link.deadline();
        for _ in 0..ATTEMPTS {
            let last = self.last(deadline, key).await?;
            let Some(last) = last.filter(|last| !last.head.is_removed) else { return Ok(false) };
            if self.remove(deadline, key, last.sequence).await? {
                if let Some(parts) = last.head.parts {
                    // As in `put`.
                    let _ = parts::discard(&self.link, deadline, &parts.name).await;
                }
                return Ok(true);
            }
        }
        Err(StoreError(format!("others write the entry all the time: {}", self.link.settings)))
    }

    async fn list(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> Result<Page, StoreError> {
        let deadline = self.link.deadline();
        self.indexed(deadline).await?;
        let mut after = after.to_owned();
        loop {
            let (keys, more) = lock(&self.view.index).page(prefix, &after, limit, bytes);
            let Some((last, _)) = keys.last().cloned() else { return Ok(Page::default()) };
            let reads = keys.into_iter().map(|(key, sequence)| async move {
                let read = self.read(deadline, &key).await?;
                if read.is_none() {
                    // It has been removed meanwhile, or somebody has removed just its message.
                    lock(&self.view.index).lost(&key, sequence);
                }
                Ok::<_, StoreError>(read)
            });
            let read = stream::iter(reads).buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
            let entries: Vec<Entry> = read.into_iter().flatten().collect();
            if !entries.is_empty() || !more {
                return Ok(Page { entries, more });
            }
            after = last;
        }
    }

    async fn keys(&self, prefix: &str, after: &str, limit: usize) -> Result<Keys, StoreError> {
        self.indexed(self.link.deadline()).await?;
        let (keys, more) = lock(&self.view.index).page(prefix, after, limit, usize::MAX);
        Ok(Keys { keys: keys.into_iter().map(|(key, _)| key).collect(), more })
    }

    async fn usage(&self, prefix: &str) -> Result<Usage, StoreError> {
        self.indexed(self.link.deadline()).await?;
        Ok(lock(&self.view.index).usage(prefix))
    }

    async fn remove_expired(&self, now: u64, limit: usize) -> Result<usize, StoreError> {
        let deadline = self.link.deadline();
        let last = self.indexed(deadline).await?;
        let expired = lock(&self.view.index).expired(now, limit);
        // Those that are written meanwhile are left: they may not expire any more.
        let removals =
            expired.into_iter().map(|(key, known)| async move { self.remove(deadline, &key, known.sequence).await });
        let removed = stream::iter(removals).buffer_unordered(AT_ONCE).try_collect::<Vec<bool>>().await?;
        self.sweep(deadline, last, limit).await?;
        Ok(removed.into_iter().filter(|removed| *removed).count())
    }

    fn watch(&self) -> broadcast::Receiver<Changed> {
        let receiver = self.changes.subscribe();
        self.follow();
        receiver
    }
}

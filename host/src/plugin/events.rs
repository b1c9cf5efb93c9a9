//! What a running guest says, on its way to whoever made the call.
//!
//! A guest never waits for a reader and never fills memory: a step of progress takes the place
//! of the one before it, and messages over the bound are dropped and counted. Who may hear it
//! is not decided here.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use super::abi::{Listing, LogLevel};
use super::policy::denial::Denial;

/// Messages and steps that may wait for the reader.
const WAITING: usize = 128;
/// Notices that may wait beside them. The same notice twice is one.
const NOTICES: usize = 256;

/// What a plugin says while a call runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Log {
        level: LogLevel,
        logger: Option<String>,
        data: LogBody,
    },
    /// `progress` is finite and has risen.
    Progress {
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// One of its lists may have changed: list again to see.
    ListChanged(Listing),
    /// A resource has new contents.
    ResourceUpdated(String),
}

/// What a log message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogBody {
    Text(String),
    /// JSON text, checked and on one line.
    Json(String),
}

/// The events of one call, in the order in which they were said.
#[derive(Default)]
pub struct Events {
    queue: Mutex<Queue>,
    arrived: Notify,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    dropped: u64,
    denied: Option<Denial>,
}

impl Events {
    pub fn push(&self, event: Event) {
        let mut queue = self.lock();
        if let (Event::Progress { .. }, Some(last @ Event::Progress { .. })) = (&event, queue.events.back_mut()) {
            *last = event;
            return;
        }
        let notice = matches!(event, Event::ListChanged(_) | Event::ResourceUpdated(_));
        if notice && queue.events.contains(&event) {
            return;
        }
        if queue.events.len() >= if notice { WAITING + NOTICES } else { WAITING } {
            queue.dropped += u64::from(matches!(event, Event::Log { .. }));
            return;
        }
        queue.events.push_back(event);
        drop(queue);
        self.arrived.notify_one();
    }

    /// Counts a message that was over another bound.
    pub(in crate::plugin) fn drop_message(&self) {
        self.lock().dropped += 1;
    }

    /// Notes that the guest was denied something.
    pub(in crate::plugin) fn deny(&self, denial: Denial) {
        self.lock().denied = Some(denial);
    }

    /// What the guest was last denied.
    pub(in crate::plugin) fn denied(&self) -> Option<Denial> {
        self.lock().denied.clone()
    }

    /// The next event, once there is one. May be dropped without losing any.
    pub async fn next(&self) -> Event {
        loop {
            // Before the look, so that what comes in between is not missed.
            let arrived = self.arrived.notified();
            if let Some(event) = self.take() {
                return event;
            }
            arrived.await;
        }
    }

    /// The next event, if there is one now.
    pub fn take(&self) -> Option<Event> {
        self.lock().events.pop_front()
    }

    /// How many messages were dropped.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("waiting", &self.lock().events.len()).finish_non_exhaustive()
    }
}

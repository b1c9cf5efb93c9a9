//! Queues the events of a running guest for the caller: logs, progress, change notifications.
//!
//! A guest never waits for a reader and never fills memory: progress replaces the previous
//! progress, and messages over the limit are dropped and counted. `server` decides which clients
//! receive them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::Notify;

use super::abi::{Listing, LogLevel};
use super::policy::denial::Denial;
use crate::sync::lock;

/// Maximum queued log messages and progress events.
const MAX_MESSAGES: usize = 128;
/// Maximum queued change notifications, which are deduplicated.
const MAX_NOTIFICATIONS: usize = 256;

/// An event of a plugin during a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Log {
        level: LogLevel,
        logger: Option<String>,
        data: LogBody,
    },
    /// `progress` is finite and increasing.
    Progress {
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// One of its lists may have changed and has to be listed again.
    ListChanged(Listing),
    /// A resource has new contents.
    ResourceUpdated(String),
}

/// The body of a log message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogBody {
    Text(String),
    /// JSON text, checked and on one line.
    Json(String),
}

/// The queue of one call's events, in order.
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
    without_folder: bool,
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
        if queue.events.len() >= if notice { MAX_MESSAGES + MAX_NOTIFICATIONS } else { MAX_MESSAGES } {
            queue.dropped += u64::from(matches!(event, Event::Log { .. }));
            return;
        }
        queue.events.push_back(event);
        drop(queue);
        self.arrived.notify_one();
    }

    /// Counts a message that was dropped because of another limit.
    pub(in crate::plugin) fn drop_message(&self) {
        self.lock().dropped += 1;
    }

    /// Counts messages that were dropped in another process.
    pub(in crate::plugin) fn add_dropped(&self, messages: u64) {
        let mut queue = self.lock();
        queue.dropped = queue.dropped.saturating_add(messages);
    }

    /// Records a denied access.
    pub(in crate::plugin) fn deny(&self, denial: Denial) {
        self.lock().denied = Some(denial);
    }

    /// The last denied access.
    pub(in crate::plugin) fn denied(&self) -> Option<Denial> {
        self.lock().denied.clone()
    }

    /// Records that the guest asked for its folders, and has none.
    pub(in crate::plugin) fn find_no_folder(&self) {
        self.lock().without_folder = true;
    }

    pub(in crate::plugin) fn found_no_folder(&self) -> bool {
        self.lock().without_folder
    }

    /// Waits for the next event. Cancel safe.
    pub async fn next(&self) -> Event {
        loop {
            // Registered before the check, so that no event in between is missed.
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
        lock(&self.queue)
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("waiting", &self.lock().events.len()).finish_non_exhaustive()
    }
}

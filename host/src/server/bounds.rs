//! Limits on the requests of one connection to plugins: permits per plugin, and unread bytes.
//!
//! A plugin without free permits does not delay requests to another. A plugin's own concurrency is
//! limited elsewhere.

pub(in crate::server) mod unread;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::refusal::Refusal;
use crate::plugin::{Fault, PluginId};
use crate::protocol::error;
use crate::sync::lock;
use unread::Unread;

/// Number of plugins from which unused semaphores are removed.
const PRUNE_FROM: usize = 16;

pub(in crate::server) struct Bounds {
    /// Unread bytes of all messages to the client.
    pub(in crate::server) unread: Unread,
    permits: usize,
    /// How long a request waits for a permit, and a message for its client to read.
    pub(in crate::server) patience: Duration,
    plugins: Mutex<HashMap<PluginId, Arc<Semaphore>>>,
}

/// The right to one request to a plugin, until it is dropped.
pub(in crate::server) struct RequestPermit(#[expect(dead_code, reason = "released on drop")] OwnedSemaphorePermit);

/// The deadline of a request's waits; set at the first one.
#[derive(Default)]
pub(in crate::server) struct WaitDeadline(Option<Instant>);

impl Bounds {
    /// `permits` per plugin.
    pub(in crate::server) fn new(unread: Unread, permits: usize, patience: Duration) -> Self {
        Self { unread, permits, patience, plugins: Mutex::default() }
    }

    /// Waits for a permit of that plugin, and until the client has read enough.
    ///
    /// # Errors
    /// If that takes too long.
    pub(in crate::server) async fn acquire(
        &self,
        plugin: &PluginId,
        deadline: &mut WaitDeadline,
    ) -> Result<RequestPermit, Refusal> {
        let permits = self.permits(plugin);
        if deadline.0.is_none()
            && self.unread.is_open()
            && let Ok(permit) = permits.clone().try_acquire_owned()
        {
            return Ok(RequestPermit(permit));
        }
        let end = *deadline.0.get_or_insert_with(|| Instant::now() + self.patience);
        let permit = timeout_at(end, permits.acquire_owned()).await.map_err(|_| Fault::Busy)?;
        timeout_at(end, self.unread.open()).await.map_err(|_| {
            tracing::debug!(%plugin, "refused a request: the client does not read");
            error::unread_answers()
        })?;
        // Not an error: the semaphore is never closed.
        permit.map(RequestPermit).map_err(|_| Fault::Host.into())
    }

    fn permits(&self, plugin: &PluginId) -> Arc<Semaphore> {
        let mut plugins = lock(&self.plugins);
        if let Some(permits) = plugins.get(plugin) {
            return permits.clone();
        }
        if plugins.len() >= PRUNE_FROM {
            // Those without a permit in use or a waiter are removed.
            plugins.retain(|_, permits| permits.available_permits() < self.permits || Arc::strong_count(permits) > 1);
        }
        plugins.entry(plugin.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.permits))).clone()
    }
}

#[cfg(test)]
mod tests;

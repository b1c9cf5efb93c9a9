//! What bounds the requests of one connection to plugins: places with each plugin, and the bytes
//! of answers that wait to be read.
//!
//! A plugin that has no more places holds up no request to another. What a plugin itself does at
//! a time is its own matter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::fault::Refusal;
use super::unread::Unread;
use crate::plugin::{Fault, PluginId};
use crate::protocol::error;

/// Plugins whose places are kept though nobody has one.
const FEW: usize = 16;

pub(in crate::server) struct Bounds {
    /// Bytes that wait for the client, of all that it is sent.
    pub(in crate::server) unread: Unread,
    places: usize,
    /// How long a request waits for a place, and whatever is sent for its client to read.
    pub(in crate::server) patience: Duration,
    plugins: Mutex<HashMap<PluginId, Arc<Semaphore>>>,
}

/// A place with a plugin, until it is dropped.
pub(in crate::server) struct Place(#[expect(dead_code, reason = "dropped is given back")] OwnedSemaphorePermit);

/// When a request has waited long enough; it begins with its first wait.
#[derive(Default)]
pub(in crate::server) struct Patience(Option<Instant>);

impl Bounds {
    /// `places` with each plugin.
    pub(in crate::server) fn new(unread: Unread, places: usize, patience: Duration) -> Self {
        Self { unread, places, patience, plugins: Mutex::default() }
    }

    /// A place with that plugin, once there is one and the client has read enough.
    ///
    /// # Errors
    /// If that takes too long.
    pub(in crate::server) async fn enter(&self, plugin: &PluginId, patience: &mut Patience) -> Result<Place, Refusal> {
        let places = self.places(plugin);
        if patience.0.is_none()
            && self.unread.is_open()
            && let Ok(place) = places.clone().try_acquire_owned()
        {
            return Ok(Place(place));
        }
        let end = *patience.0.get_or_insert_with(|| Instant::now() + self.patience);
        let place = timeout_at(end, places.acquire_owned()).await.map_err(|_| Fault::Busy)?;
        timeout_at(end, self.unread.open()).await.map_err(|_| {
            tracing::debug!(%plugin, "a request was refused: its client does not read");
            error::unread_answers()
        })?;
        // Not an error: the semaphore is never closed.
        place.map(Place).map_err(|_| Fault::Host.into())
    }

    fn places(&self, plugin: &PluginId) -> Arc<Semaphore> {
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = plugins.get(plugin) {
            return places.clone();
        }
        if plugins.len() >= FEW {
            // Of whom nobody has a place or waits for one.
            plugins.retain(|_, places| places.available_permits() < self.places || Arc::strong_count(places) > 1);
        }
        plugins.entry(plugin.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.places))).clone()
    }
}

#[cfg(test)]
mod tests;

//! What a client is notified of: changes of lists and of resources, on each of its streams.
//!
//! Each stream's own task notifies after a pause, which coalesces changes. A call notifies of the
//! changes that it caused before its response: many clients close their session with it.

pub(in crate::server) mod own;
pub(in crate::server) mod updates;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use serde::Serialize;
use tokio::sync::{mpsc, watch};

use super::Server;
use super::bounds::Bounds;
use super::outgoing::Outgoing;
use super::wire::text;
use crate::catalog::Listings;
use crate::identity::Identity;
use crate::json::Raw;
use crate::sync::lock;
use updates::{Subscriber, Uris};

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// The kinds of changes that a stream is for.
pub(in crate::server) struct Wanted {
    pub(in crate::server) tools: bool,
    pub(in crate::server) prompts: bool,
    pub(in crate::server) resources: bool,
    pub(in crate::server) uris: Arc<Uris>,
}

/// Where the notifications of a stream go.
#[derive(Clone)]
pub(in crate::server) struct Stream {
    pub(in crate::server) outbox: mpsc::Sender<Outgoing>,
    pub(in crate::server) bounds: Arc<Bounds>,
    /// The id of the request that opened it, as JSON; of `subscriptions/listen` only.
    pub(in crate::server) subscription: Option<Arc<str>>,
}

/// The changes on one stream since its last notifications.
pub(in crate::server) struct Changes {
    wanted: Wanted,
    stream: Stream,
    listings: watch::Receiver<Listings>,
    /// `None` until lists can be answered: what was loaded before is no change.
    seen: Option<Listings>,
    /// The generation of the rights at that time.
    rights: u64,
    updates: Subscriber,
    /// Whose stream it is: who sent the last request of its connection.
    identity: Arc<Mutex<Arc<Identity>>>,
    /// Resources whose update has not been sent.
    updated: BTreeSet<Box<str>>,
}

impl Changes {
    /// The changes from now on.
    pub(in crate::server) fn from_now(
        server: &Server,
        wanted: Wanted,
        stream: Stream,
        identity: Arc<Mutex<Arc<Identity>>>,
    ) -> Self {
        let mut listings = server.catalog.watch();
        let seen = server.catalog.listable_now().map(|_| *listings.borrow_and_update());
        let updates = server.updates.subscribe(wanted.uris.clone());
        let rights = server.rights.generation();
        Self { wanted, stream, listings, seen, rights, updates, identity, updated: BTreeSet::new() }
    }

    /// Counts changes of lists from these on, unless they are counted already.
    pub(in crate::server) fn count_from(&mut self, listings: Listings) {
        self.seen.get_or_insert(listings);
    }

    /// Notifies of the lists that changed. Cancel safe.
    pub(in crate::server) async fn send_lists(&mut self, server: &Server) {
        let Some(seen) = &mut self.seen else { return };
        let rights = server.rights.generation();
        // Other rights may make every list another one.
        if self.rights != rights {
            *seen = Listings::never();
            self.rights = rights;
        }
        let now = *self.listings.borrow_and_update();
        for (method, wanted, seen, now) in [
            (TOOLS_CHANGED, self.wanted.tools, &mut seen.tools, now.tools),
            (PROMPTS_CHANGED, self.wanted.prompts, &mut seen.prompts, now.prompts),
            (RESOURCES_CHANGED, self.wanted.resources, &mut seen.resources, now.resources),
        ] {
            if wanted && *seen != now {
                self.stream.send(method, None).await;
            }
            *seen = now;
        }
    }

    /// Notifies of the resources that were updated; `false` if there were none. Cancel safe.
    pub(in crate::server) async fn send_updates(&mut self, server: &Server) -> bool {
        self.updates.take(&mut self.updated);
        if !self.updated.is_empty() {
            let identity = lock(&self.identity).clone();
            let permissions = server.permissions_of(&identity);
            self.updated.retain(|uri| server.may_read(&permissions, uri));
        }
        let any = !self.updated.is_empty();
        while let Some(uri) = self.updated.first() {
            self.stream.send(RESOURCE_UPDATED, Some(uri)).await;
            self.updated.pop_first();
        }
        any
    }
}

impl Stream {
    async fn send(&self, method: &str, uri: Option<&str>) {
        let meta = self.subscription.as_deref().map(|id| Meta { subscription: Raw(id) });
        let params = (uri.is_some() || meta.is_some()).then(|| text(&Changed { uri, meta }).ok()).flatten();
        let mut message = Outgoing::notification(method, params.as_deref());
        message.hold(&self.bounds.unread);
        // An error means that the client has disconnected.
        let _ = self.outbox.send(message).await;
    }
}

/// Params of a change: of a list, or of the resource with that URI.
#[derive(Serialize)]
struct Changed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta<'a>>,
}

/// The `_meta` of messages on a stream of `subscriptions/listen`.
#[derive(Clone, Copy, Serialize)]
pub(in crate::server) struct Meta<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    pub(in crate::server) subscription: Raw<'a>,
}

impl<'a> Meta<'a> {
    /// `subscription`: the id of the request that opened the stream, as JSON.
    pub(in crate::server) fn of(subscription: &'a str) -> Self {
        Self { subscription: Raw(subscription) }
    }
}

/// The streams of one connection.
#[derive(Default)]
pub(in crate::server) struct Followers(Mutex<Vec<Weak<Follower>>>);

/// The changes on one stream, for its own task and for calls.
pub(in crate::server) type Follower = tokio::sync::Mutex<Changes>;

impl Followers {
    /// Adds a stream, for as long as the returned value is held.
    pub(in crate::server) fn add(&self, changes: Changes) -> Arc<Follower> {
        let follower = Arc::new(Follower::new(changes));
        let mut followers = self.lock();
        followers.retain(|follower| follower.strong_count() > 0);
        followers.push(Arc::downgrade(&follower));
        follower
    }

    /// Notifies on all streams of what has changed so far, without a pause.
    pub(in crate::server) async fn notify(&self, server: &Server) {
        let followers: Vec<_> = self.lock().iter().filter_map(Weak::upgrade).collect();
        for follower in followers {
            let mut changes = follower.lock().await;
            changes.send_lists(server).await;
            changes.send_updates(server).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Follower>>> {
        lock(&self.0)
    }
}

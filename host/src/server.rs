//! Clients on one side, plugins on the other: sessions, dispatch, and the two changes of
//! vocabulary between the wire and WIT.
//!
//! It knows no sockets, no stdin and no headers, and runs no component itself.

mod asked;
mod bounds;
mod client;
mod connection;
mod discovery;
mod fault;
mod handlers;
mod in_flight;
mod outgoing;
mod pages;
mod relay;
mod room;
mod scope;
mod seal;
mod session;
mod trail;
mod unread;
mod updates;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::protocol::Implementation;
use pages::Pages;
use seal::EXPIRY;
use unread::UnreadOfAll;
use updates::Updates;

pub use crate::protocol::era::{PostKind, post_kind};
pub use crate::protocol::headers::Headers;
pub use connection::{Answered, Connection};
pub use outgoing::{Kind, Outgoing};
pub use seal::{Binding, Broken, Seal, Sealed};
pub use unread::Unread;

/// How the server presents itself, and its bounds. Never shown: it may hold a secret.
#[derive(Clone)]
pub struct Settings {
    pub name: String,
    pub version: String,
    /// Sent to clients for their model.
    pub instructions: Option<String>,
    /// Entries of a list that are sent at once.
    pub page_size: usize,
    /// How long a first request waits for the first scan of the plugin folder.
    pub first_scan: Duration,
    /// Requests of one connection that are with one plugin at the same time.
    pub in_flight: usize,
    /// How long a request waits for its turn to be with a plugin, and for its client to read.
    pub patience: Duration,
    /// Bytes of requests of one connection that run or wait; more are refused.
    pub waiting: usize,
    /// The same of all connections together, for requests of more than 64 KiB.
    pub waiting_together: usize,
    /// Bytes that wait to be read by the client of one connection. While more than half of it
    /// waits no call begins, and an answer beyond it is not kept.
    pub unread: usize,
    /// Bytes of messages of more than 64 KiB that wait for the clients of all connections of one
    /// caller; of smaller ones half as many.
    pub unread_of_caller: usize,
    /// The same of all callers together.
    pub unread_together: usize,
    /// Resources of which one connection can hear.
    pub followed: usize,
    /// `subscriptions/listen` streams of one connection.
    pub listens: usize,
    /// Between two notifications that the same list has changed.
    pub list_changed_pause: Duration,
    /// Between two notifications that the same resource has changed.
    pub updated_pause: Duration,
    /// How long a plugin may go on after its caller has given up.
    pub cancel_grace: Duration,
    /// How long a client may take to answer a question.
    pub ask_timeout: Duration,
    /// Tools for clients that list tools only once.
    pub discovery: bool,
    /// Closes and signs what clients carry from one request to the next. Without it the process
    /// makes its own, and takes nothing from another.
    pub state_key: Option<[u8; 32]>,
    /// Where each call of a plugin is recorded.
    pub audit: Audit,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "wharf".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            instructions: None,
            page_size: 1000,
            first_scan: Duration::from_secs(30),
            in_flight: 256,
            patience: Duration::from_secs(5),
            waiting: 64 << 20,
            waiting_together: 256 << 20,
            unread: 96 << 20,
            unread_of_caller: 128 << 20,
            unread_together: 256 << 20,
            followed: 1024,
            listens: 64,
            list_changed_pause: Duration::from_millis(250),
            updated_pause: Duration::from_millis(50),
            cancel_grace: Duration::from_millis(50),
            ask_timeout: EXPIRY,
            discovery: false,
            state_key: None,
            audit: Audit::default(),
        }
    }
}

/// What all connections share.
pub struct Server {
    catalog: Arc<Catalog>,
    settings: Settings,
    implementation: Implementation,
    /// Signs cursors, so that a made-up one is told from ours.
    cursor_key: [u8; 32],
    /// Closes what a call keeps with the client between its rounds.
    seal: Seal,
    /// Of this process alone: another one counts its calls from the same number.
    visit_key: [u8; 32],
    updates: Updates,
    pages: Pages,
    /// See [`room::Room`].
    large: Budget,
    unread: UnreadOfAll,
    calls: AtomicU64,
    stopping: watch::Sender<bool>,
    cut_off: CancellationToken,
    /// Requests that were.
    cut: AtomicUsize,
}

impl Server {
    /// With discovery, its tools are put into the catalog: make the server before the plugins
    /// are loaded, or a plugin of the host's name is replaced.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Arc<Self> {
        let mut own_key = [0; 32];
        // Without randomness nothing is sealed later either; cursors are no secret.
        if let Err(error) = getrandom::fill(&mut own_key) {
            tracing::warn!(%error, "the system gives no randomness");
        }
        let key = settings.state_key.unwrap_or(own_key);
        let derive = |purpose| blake3::derive_key(purpose, &key);
        let implementation = Implementation {
            name: settings.name.clone(),
            version: settings.version.clone(),
            ..Implementation::default()
        };
        if settings.discovery {
            discovery::put_into(&catalog);
        }
        Arc::new(Self {
            large: Budget::new(settings.waiting_together),
            unread: UnreadOfAll::new(settings.unread_of_caller, settings.unread_together),
            catalog,
            settings,
            implementation,
            cursor_key: derive("wharf cursor v1"),
            seal: Seal::new(&derive("wharf seal v1")),
            visit_key: blake3::derive_key("wharf visit v1", &own_key),
            updates: Updates::default(),
            pages: Pages::default(),
            calls: AtomicU64::new(0),
            stopping: watch::Sender::new(false),
            cut_off: CancellationToken::new(),
            cut: AtomicUsize::new(0),
        })
    }

    /// Ends the listen streams of all clients with their results.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Stops work on all requests; each is answered that it was.
    pub fn cut_off(&self) {
        self.cut_off.cancel();
    }

    /// Says in the log how many requests were cut off, if any.
    pub fn tell_cut_off(&self) {
        let requests = self.cut.load(Ordering::Relaxed);
        if requests > 0 {
            tracing::warn!(requests, "requests were still running at the end, and were cut off");
        }
    }

    /// Whether it is about to stop.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Whether the plugins of the first scan are in service, and it is not about to stop.
    pub fn is_ready(&self) -> bool {
        self.catalog.is_ready() && !self.is_stopping()
    }

    /// What the host and its log call one call: not the client's id, which may be anything.
    fn name_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// A name for a page that a user is asked to visit: the same for the same question of
    /// a call, and nobody else's.
    fn name_visit(&self, call: u64, key: &str) -> String {
        let mut hash = blake3::Hasher::new_keyed(&self.visit_key);
        hash.update(&call.to_le_bytes()).update(key.as_bytes());
        let mut name = hash.finalize().to_hex().to_string();
        name.truncate(32);
        name
    }
}

#[cfg(test)]
mod tests;

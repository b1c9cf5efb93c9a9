//! Clients on one side, plugins on the other: sessions, dispatch, and the two changes of
//! vocabulary between the wire and WIT.
//!
//! It knows no sockets, no stdin and no headers, and runs no component itself.

mod connection;
mod discovery;
mod fault;
mod handlers;
mod in_flight;
mod scope;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::catalog::Catalog;
use crate::protocol::{Implementation, ServerCapabilities};

pub use connection::Connection;

/// How the server presents itself, and its bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    pub name: String,
    pub version: String,
    /// Sent to clients for their model.
    pub instructions: Option<String>,
    /// Entries of a list that are sent at once.
    pub page_size: usize,
    /// How long a first request waits for the first scan of the plugin folder.
    pub first_scan: Duration,
    /// Requests of one connection that run at the same time; more wait unread.
    pub in_flight: usize,
    /// `subscriptions/listen` streams of one connection.
    pub listens: usize,
    /// Between two notifications that the same list has changed.
    pub list_changed_pause: Duration,
    /// Tools for clients that list tools only once.
    pub discovery: bool,
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
            listens: 64,
            list_changed_pause: Duration::from_millis(250),
            discovery: false,
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
}

impl Server {
    /// With discovery, its tools are put into the catalog: make the server before the plugins
    /// are loaded, or a plugin of the host's name is replaced.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Arc<Self> {
        let mut cursor_key = [0; 32];
        // Cursors are no secret: without randomness they are merely easier to make up.
        if let Err(error) = getrandom::fill(&mut cursor_key) {
            tracing::warn!(%error, "the system gives no randomness");
        }
        let implementation = Implementation {
            name: settings.name.clone(),
            version: settings.version.clone(),
            ..Implementation::default()
        };
        if settings.discovery {
            discovery::put_into(&catalog);
        }
        Arc::new(Self { catalog, settings, implementation, cursor_key })
    }

    /// Takes up one client. Everything that it is to read is put into `outbox`, one whole
    /// message each; a full outbox holds back the reading of requests.
    pub fn connect(self: &Arc<Self>, outbox: mpsc::Sender<String>) -> Arc<Connection> {
        Connection::new(self.clone(), outbox)
    }

    /// What works, whatever the plugins of the moment list: a client that connects to an
    /// empty folder must still ask again after the first plugin has come. Completions are no
    /// list, and are there if a plugin has them.
    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities {
            tools: true,
            prompts: true,
            resources: true,
            list_changed: true,
            completions: self.catalog.offers_completions(),
            ..ServerCapabilities::default()
        }
    }
}

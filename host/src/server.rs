//! The protocol engine between clients and plugins: sessions, dispatch, and the conversion between
//! MCP's wire format and WIT.
//!
//! It knows neither sockets nor stdin nor header syntax, and runs no component itself.

mod attribute;
mod bounds;
mod built_in;
mod call_metrics;
mod call_record;
mod call_trace;
mod changes;
mod client;
mod connection;
mod cost;
mod discovery;
mod fault;
mod handlers;
mod keys;
mod measured;
mod outgoing;
mod own_stream;
mod pages;
mod permissions;
mod promotion;
mod proposing;
mod questions;
mod refusal;
mod rejected;
mod relay;
mod response;
mod scope;
mod seal;
mod tasks;
mod unapproved;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::approvals::Approvals;
use crate::audit::Audit;
use crate::budgets::Budgets;
use crate::byte_budget::ByteBudget;
use crate::catalog::{Catalog, Snapshot};
use crate::metrics::Metrics;
pub use crate::metrics::{Counted, OpenKind};
use crate::proposals::Proposals;
use crate::protocol::Implementation;
use crate::rights::Rights;
use crate::seldom::Seldom;
use bounds::unread::AllUnread;
use changes::own::Own;
pub use changes::own::OwnChanges;
use changes::updates::Updates;
use keys::Keys;
use pages::Pages;
use permissions::CurrentRights;
use rejected::Rejected;
use seal::EXPIRY;
use tasks::Tasks;

pub use crate::protocol::era::{PostKind, post_kind};
pub use crate::protocol::headers::Headers;
pub use crate::traces::{TraceParent, Traces};
pub use bounds::unread::Unread;
pub use built_in::DISCOVERY_ID;
pub use connection::{Answered, Connection, Posted};
pub use outgoing::{MessageKind, Outgoing, Remedy};
pub use permissions::{Allowed, asks, may_destroy, verdict};
pub use proposing::ID as PROPOSALS_ID;
pub use questions::Sealed;
pub use seal::{Binding, Seal, SealError};
pub use tasks::TaskSettings;

/// The server's identity and limits. No `Debug`: it may hold a secret.
#[derive(Clone)]
pub struct Settings {
    pub name: String,
    pub version: String,
    /// What people are shown in place of the name.
    pub title: Option<String>,
    pub description: Option<String>,
    /// Instructions for the client's model.
    pub instructions: Option<String>,
    /// Entries per page of a list.
    pub page_size: usize,
    /// How long after the start lists wait at most for plugins that are being loaded.
    pub first_list: Duration,
    /// The same for a request that names something that no loaded plugin has.
    pub first_scan: Duration,
    /// Maximum concurrent requests of one connection to one plugin.
    pub in_flight: usize,
    /// How long a request waits for a permit of its plugin, and for its client to read.
    pub patience: Duration,
    /// Maximum bytes of running and waiting requests of one connection; more are refused.
    pub waiting: usize,
    /// The same for all connections together; counts only requests over 64 KiB.
    pub waiting_together: usize,
    /// Maximum unread bytes of one connection. While more than half of it is used, no call starts; a
    /// response that exceeds it is dropped.
    pub unread: usize,
    /// Maximum unread bytes of one caller's connections, in messages over 64 KiB; half as many in
    /// smaller ones.
    pub unread_of_caller: usize,
    /// The same for all callers together.
    pub unread_together: usize,
    /// Maximum resource subscriptions of one connection.
    pub subscriptions: usize,
    /// Maximum `subscriptions/listen` streams of one connection.
    pub listen_streams: usize,
    /// Minimum time between two `list_changed` notifications.
    pub list_changed_pause: Duration,
    /// Minimum time between two rounds of `resources/updated` notifications.
    pub updated_pause: Duration,
    /// How long a plugin may continue after its request was cancelled.
    pub cancel_grace: Duration,
    /// How long a client may take to answer a question.
    pub ask_timeout: Duration,
    /// Adds the tools that search for and call tools, for clients that list tools only once.
    pub discovery: bool,
    /// Adds the tool by which a model may propose a plugin, and where it is written down.
    pub proposals: Option<Proposals>,
    /// What an operator is asked, and which answers were used.
    pub approvals: Approvals,
    /// Encrypts request states and signs cursors. Without it the process generates its own key, and
    /// accepts neither from another process, until it is given [others](Server::keys).
    pub state_key: Option<[u8; 32]>,
    /// The id of this node, if there are others, who tell by it whose a session is.
    pub node: Option<[u8; 16]>,
    /// The audit log of plugin calls.
    pub audit: Audit,
    /// What is counted and measured.
    pub metrics: Metrics,
    pub traces: Traces,
    /// Who may use what, until they are replaced.
    pub rights: Arc<Rights>,
    /// What may be spent.
    pub budgets: Arc<Budgets>,
    /// Calls that outlive their requests.
    pub tasks: TaskSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "wharf".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            title: None,
            description: None,
            instructions: None,
            page_size: 1000,
            first_list: Duration::from_secs(3),
            first_scan: Duration::from_secs(30),
            in_flight: 256,
            patience: Duration::from_secs(5),
            waiting: 64 << 20,
            waiting_together: 256 << 20,
            unread: 96 << 20,
            unread_of_caller: 128 << 20,
            unread_together: 256 << 20,
            subscriptions: 1024,
            listen_streams: 64,
            list_changed_pause: Duration::from_millis(250),
            updated_pause: Duration::from_millis(50),
            cancel_grace: Duration::from_millis(50),
            ask_timeout: EXPIRY,
            discovery: false,
            proposals: None,
            approvals: Approvals::default(),
            state_key: None,
            node: None,
            audit: Audit::default(),
            metrics: Metrics::default(),
            traces: Traces::default(),
            rights: Arc::default(),
            budgets: Arc::default(),
            tasks: TaskSettings::default(),
        }
    }
}

/// State shared by all connections.
pub struct Server {
    catalog: Arc<Catalog>,
    settings: Settings,
    implementation: Implementation,
    /// Encrypt the state that a call stores with the client between its rounds, and sign cursors.
    keys: Keys,
    /// Unique to this process: another one numbers its calls from zero, too.
    visit_key: [u8; 32],
    rights: CurrentRights,
    /// Held while the approvals are read or changed, which takes a thread each.
    deciding: Semaphore,
    unusable_approvals: Seldom,
    rejected: Rejected,
    /// `None`: there is no place for them.
    tasks: Option<Arc<Tasks>>,
    updates: Updates,
    own_changes: Own,
    pages: Pages,
    /// See [`connection::request_budget::RequestBudget`].
    large: ByteBudget,
    unread: AllUnread,
    calls: AtomicU64,
    stopping: watch::Sender<bool>,
    cut_off: CancellationToken,
    /// Requests that were cut off.
    cut_off_count: AtomicUsize,
}

impl Server {
    /// With discovery, its tools are added to the catalog: create the server before plugins are
    /// loaded, or a plugin of the same name is replaced.
    pub fn new(catalog: Arc<Catalog>, settings: Settings) -> Arc<Self> {
        let mut own_key = [0; 32];
        // Without randomness nothing is sealed later either; cursors are not secret.
        if let Err(error) = getrandom::fill(&mut own_key) {
            tracing::warn!(%error, "the system's random number generator failed");
        }
        let key = settings.state_key.unwrap_or(own_key);
        let implementation = Implementation {
            name: settings.name.clone(),
            version: settings.version.clone(),
            title: settings.title.clone(),
            description: settings.description.clone(),
            ..Implementation::default()
        };
        if settings.discovery {
            discovery::register(&catalog);
        }
        if let Some(proposals) = settings.proposals.clone() {
            proposing::register(&catalog, proposals);
        }
        Arc::new(Self {
            large: ByteBudget::new(settings.waiting_together),
            unread: AllUnread::new(settings.unread_of_caller, settings.unread_together),
            rights: CurrentRights::new(settings.rights.clone()),
            deciding: Semaphore::new(4),
            unusable_approvals: Seldom::default(),
            rejected: Rejected::default(),
            tasks: Tasks::new(&settings.tasks, settings.metrics.clone()).map(Arc::new),
            catalog,
            settings,
            implementation,
            keys: Keys::new(&key),
            visit_key: blake3::derive_key("wharf visit v1", &own_key),
            updates: Updates::default(),
            own_changes: Own::default(),
            pages: Pages::default(),
            calls: AtomicU64::new(0),
            stopping: watch::Sender::new(false),
            cut_off: CancellationToken::new(),
            cut_off_count: AtomicUsize::new(0),
        })
    }

    /// The keys of what clients keep.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// A new id of a session or of a client, which nobody guesses. With other nodes it has, sealed, which one made it.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn new_session_id(&self) -> Result<String, getrandom::Error> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret)?;
        match self.settings.node {
            Some(node) => self.keys.wrap(&[node, secret].concat()),
            None => Ok(format!("{:032x}", u128::from_be_bytes(secret))),
        }
    }

    /// The other node that made that id.
    pub fn other_node_of(&self, session_id: &str) -> Option<[u8; 16]> {
        let own = self.settings.node?;
        let (node, _) = self.keys.unwrap(session_id)?.split_first_chunk().map(|(node, rest)| (*node, rest.len()))?;
        (node != own).then_some(node)
    }

    /// Counts something that is open.
    pub fn opened(&self, kind: OpenKind) -> Counted {
        self.settings.metrics.opened(kind)
    }

    /// What calls have changed since the last time, for other nodes. Nothing is kept before the first time.
    pub fn take_own_changes(&self) -> OwnChanges {
        self.own_changes.take()
    }

    /// Tells clients what calls on other nodes have changed. Must be called in the runtime of the catalog.
    pub fn changed_elsewhere(&self, changes: &OwnChanges) {
        let OwnChanges { resources, any, lists } = changes;
        for id in lists {
            // Nobody waits for it.
            drop(self.catalog.list_again(id));
        }
        resources.iter().for_each(|uri| self.updates.publish(uri));
        if *any {
            self.updates.publish_any();
        }
    }

    /// What clients are told of the server itself.
    pub fn implementation(&self) -> &Implementation {
        &self.implementation
    }

    /// Ends all clients' listen streams with their results.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Stops all running requests; each is answered with a `shutting_down` error.
    pub fn cut_off(&self) {
        self.cut_off.cancel();
    }

    /// Logs the number of requests that were cut off, if any.
    pub fn log_cut_off(&self) {
        let requests = self.cut_off_count.load(Ordering::Relaxed);
        if requests > 0 {
            tracing::warn!(requests, "cut off requests that were still running at shutdown");
        }
    }

    /// Whether shutdown has begun.
    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Whether the plugins of the first scan are in service and shutdown has not begun.
    pub fn is_ready(&self) -> bool {
        self.catalog.is_ready() && !self.is_stopping()
    }

    /// The catalog's snapshot for a request that names something, which `known` looks for: while plugins are being
    /// loaded, it may be one of them that has it.
    async fn snapshot_with(&self, known: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        if !self.catalog.is_ready() {
            // Until then a name may still pass to another plugin.
            self.catalog.listable(self.settings.first_list).await;
            self.catalog.known(self.settings.first_scan, known).await;
        }
        self.catalog.snapshot()
    }

    /// The id of a call in the host and its log: not the client's request id, which may be anything.
    fn next_call_id(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// The `elicitationId` of a URL elicitation: stable for the same question of a call, and
    /// unguessable for others.
    fn elicitation_id(&self, call: u64, key: &str) -> String {
        let mut hash = blake3::Hasher::new_keyed(&self.visit_key);
        hash.update(&call.to_le_bytes()).update(key.as_bytes());
        let mut name = hash.finalize().to_hex().to_string();
        name.truncate(32);
        name
    }
}

#[cfg(test)]
mod tests;

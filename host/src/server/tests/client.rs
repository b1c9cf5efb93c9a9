//! A client's inbox, and the scope of its request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::identity::Identity;
use crate::jsonrpc::RequestId;
use crate::protocol::params::Params;
use crate::protocol::{ClientCapabilities, Revision, meta};
use crate::rights::Permissions;
use crate::server::bounds::Bounds;
use crate::server::client::Client;
use crate::server::client::pending::PendingRequests;
use crate::server::scope::{Scope, Verbosity};
use crate::server::{Outgoing, Server};

/// Timeout for expected messages. The absence of others is checked after a later message.
const PATIENCE: Duration = Duration::from_secs(20);

/// The messages sent to one client.
pub(in crate::server) struct Inbox(pub(in crate::server) mpsc::Receiver<Outgoing>);

impl Inbox {
    /// The next message.
    pub(in crate::server) async fn next(&mut self) -> Value {
        let message = timeout(PATIENCE, self.0.recv()).await.expect("no message in time").expect("an open stream");
        parse(&message)
    }

    /// All messages that are queued now.
    pub(in crate::server) fn all(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.0.try_recv().ok()).map(|message| parse(&message)).collect()
    }
}

fn parse(message: &Outgoing) -> Value {
    serde_json::from_str(&message.text).expect("JSON")
}

/// A client with its own limits. With `pending` it accepts requests.
pub(in crate::server) fn client(
    server: &Server,
    capabilities: ClientCapabilities,
    outbox: mpsc::Sender<Outgoing>,
    pending: Option<&Arc<PendingRequests>>,
) -> Client {
    let settings = &server.settings;
    let unread = server.unread.of(&"caller".into(), settings.unread);
    let bounds = Bounds::new(unread, settings.in_flight, settings.patience);
    Client::new(Arc::new(capabilities), outbox, Arc::new(bounds), pending.cloned())
}

/// The scope of request 1, of a client that wants all messages, and progress under the token 7.
pub(in crate::server) fn scope(server: &Server, revision: Revision, client: Client) -> Scope {
    let params = RawValue::from_string(r#"{"_meta":{"progressToken":7}}"#.into()).expect("JSON");
    let (progress, meta) = meta::parse_legacy(revision, &Params::read(Some(&params))).expect("params");
    Scope {
        id: RequestId::new_number(1),
        call: server.next_call_id(),
        revision,
        bytes: 0,
        meta,
        identity: Arc::new(Identity::local()),
        permissions: Permissions::open(),
        caller: "caller".into(),
        client,
        followers: Arc::default(),
        progress,
        verbosity: Verbosity::Request(Some(crate::protocol::Level::Debug)),
        headers: None,
        task: None,
        cost: None,
        span: None,
        cancelled: CancellationToken::new(),
    }
}

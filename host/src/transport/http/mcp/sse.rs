//! HTTP+SSE, the transport of 2024-11-05: everything that the server says is an event on one
//! GET, and the client posts to an address that the first event names.
//!
//! Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use tokio::sync::mpsc;

use super::places::{Place as Seat, seated};
use super::reply::{self, Event};
use crate::jsonrpc::{self, ErrorObject, Invalid};
use crate::server::{Connection, Outgoing, PostKind, Server, post_kind};
use crate::transport::http::caller::Caller;
use crate::transport::http::refusal::{Refusal, refused};
use crate::transport::http::{Response, refusal};

/// Messages that were made and not yet taken by the connection.
const OUTBOX: usize = 64;

/// The clients that are connected.
#[derive(Default)]
pub(super) struct Sse(Arc<Clients>);

#[derive(Default)]
struct Clients(Mutex<HashMap<String, Client>>);

#[derive(Clone)]
struct Client {
    principal: Arc<str>,
    connection: Arc<Connection>,
    outbox: mpsc::Sender<Outgoing>,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Client>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Takes a client out when its stream ends.
struct Leave {
    id: String,
    clients: Arc<Clients>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(client) = self.clients.lock().remove(&self.id) {
            client.connection.abandon();
        }
    }
}

impl Sse {
    /// The stream of one client. `messages` is the path that it posts to.
    pub(super) fn get(&self, server: &Arc<Server>, caller: &Caller, messages: &str, seat: Seat) -> Response {
        let mut secret = [0; 16];
        if getrandom::fill(&mut secret).is_err() {
            return refusal::empty(StatusCode::SERVICE_UNAVAILABLE);
        }
        let id = format!("{:032x}", u128::from_be_bytes(secret));
        let (outbox, incoming) = mpsc::channel(OUTBOX);
        let connection = server.connect_for(outbox.clone(), &caller.principal, &caller.key);
        let endpoint = Event::named("endpoint", format!("{messages}?session={id}"));
        self.0.lock().insert(id.clone(), Client { principal: caller.principal.clone(), connection, outbox });
        let leave = Leave { id, clients: self.0.clone() };
        // Who comes after all were closed would stay until it is cut off.
        if server.is_stopping() {
            return Refusal::shutting_down().into();
        }
        let said = stream::unfold((incoming, leave), |(mut incoming, leave)| async move {
            let message = incoming.recv().await?;
            Some((Event::message(None, message), (incoming, leave)))
        });
        reply::events(seated(stream::iter([endpoint]).chain(said), Some(seat)))
    }

    /// Lets all clients finish what runs. A stream ends after its last message, when nobody
    /// has its outbox any more.
    pub(super) async fn close(&self, grace: Duration) {
        let all: Vec<_> = self.0.lock().drain().map(|(_, client)| client).collect();
        let closing = all.iter().map(|client| client.connection.close(grace));
        futures_util::future::join_all(closing).await;
    }

    /// A message of a client. `query` is that of the address it was given.
    pub(super) async fn post(&self, principal: &str, query: Option<&str>, body: &Bytes) -> Response {
        let id = query.into_iter().flat_map(|query| query.split('&')).find_map(|pair| pair.strip_prefix("session="));
        let client = id.and_then(|id| self.0.lock().get(id).filter(|client| *client.principal == *principal).cloned());
        let Some(client) = client else {
            let error = ErrorObject::invalid_request("session_not_found", "there is no such session; connect again");
            return refused(StatusCode::NOT_FOUND, None, &error);
        };
        let frame = match jsonrpc::decode(body) {
            Ok(frame) => frame,
            Err(Invalid { id, error }) => return refused(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        // This transport has no newer revisions.
        if let PostKind::Stateless = post_kind(&frame, None) {
            let error = ErrorObject::invalid_request(
                "unsupported_transport",
                "this transport is for the revisions with a handshake; the others are at /mcp",
            );
            // A notification gets no answer.
            if let Some(id) = frame.request_id().cloned() {
                let invalid = Invalid { id: Some(id), error };
                let _ = client.outbox.send(client.connection.refusal(&invalid)).await;
            }
        } else {
            let (connection, outbox) = (&client.connection, &client.outbox);
            if let Some(answered) = connection.receive_post(frame, body.len(), None, outbox, true).await {
                answered.send(outbox).await;
            }
        }
        refusal::empty(StatusCode::ACCEPTED)
    }
}

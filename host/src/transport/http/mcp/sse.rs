//! HTTP+SSE, the transport of 2024-11-05: all server messages are events on one GET, and the client
//! posts to the endpoint that the first event names.
//!
//! Source: MCP 2024-11-05, basic/transports, "HTTP with SSE".

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use tokio::sync::mpsc;

use super::reply::{self, Event};
use super::stream_limit::{StreamPermit, until_evicted};
use crate::jsonrpc::{self, ErrorObject, Invalid};
use crate::server::{Connection, Outgoing, PostKind, Posted, Server, post_kind};
use crate::sync::lock;
use crate::transport::http::caller::Caller;
use crate::transport::http::responses::{ErrorResponse, refused};
use crate::transport::http::{Response, responses};

/// Capacity of the channel to the HTTP connection, in messages.
const OUTBOX: usize = 64;

/// The connected clients.
#[derive(Default)]
pub(super) struct Sse(Arc<Clients>);

#[derive(Default)]
struct Clients(Mutex<HashMap<String, Client>>);

#[derive(Clone)]
struct Client {
    /// The name of the client's identity.
    owner: Arc<str>,
    expiry: Arc<Expiry>,
    connection: Arc<Connection>,
    outbox: mpsc::Sender<Outgoing>,
}

/// When the last of a client's tokens expires: its requests may come with newer ones.
struct Expiry(Mutex<Option<Instant>>);

impl Expiry {
    fn of(caller: &Caller) -> Arc<Self> {
        Arc::new(Self(Mutex::new(caller.expires)))
    }

    fn extend(&self, caller: &Caller) {
        let mut expires = lock(&self.0);
        *expires = (*expires).max(caller.expires);
    }

    async fn passed(self: Arc<Self>) {
        let expires = || *lock(&self.0);
        let Some(mut at) = expires() else { return std::future::pending().await };
        loop {
            tokio::time::sleep_until(at.into()).await;
            match expires() {
                Some(later) if later > at => at = later,
                _ => return,
            }
        }
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Client>> {
        lock(&self.0)
    }
}

/// Removes a client when its stream ends.
struct RemoveOnDrop {
    id: String,
    clients: Arc<Clients>,
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(client) = self.clients.lock().remove(&self.id) {
            client.connection.abandon();
        }
    }
}

impl Sse {
    /// The stream of one client. `post_path` is the path that it posts to.
    pub(super) fn get(&self, server: &Arc<Server>, caller: &Caller, post_path: &str, permit: StreamPermit) -> Response {
        let Ok(id) = server.new_session_id() else { return responses::empty(StatusCode::SERVICE_UNAVAILABLE) };
        let (outbox, incoming) = mpsc::channel(OUTBOX);
        let connection = server.connect_for(outbox.clone(), &caller.identity, &caller.key);
        let owner = caller.identity.name().clone();
        let endpoint = Event::named("endpoint", format!("{post_path}?session={id}"));
        let expiry = Expiry::of(caller);
        let expired = expiry.clone().passed();
        self.0.lock().insert(id.clone(), Client { owner, expiry, connection, outbox });
        let guard = RemoveOnDrop { id, clients: self.0.clone() };
        // After `close`, nothing else would end the stream of a new client.
        if server.is_stopping() {
            return ErrorResponse::shutting_down().into();
        }
        let messages = stream::unfold((incoming, guard), |(mut incoming, guard)| async move {
            let message = incoming.recv().await?;
            Some((Event::message(None, message), (incoming, guard)))
        });
        let events = stream::iter([endpoint]).chain(messages).take_until(expired);
        reply::events(until_evicted(events, Some(permit)))
    }

    /// Closes all clients; running requests get `grace` to finish. A stream ends when all senders of
    /// its outbox are dropped.
    pub(super) async fn close(&self, grace: Duration) {
        let all: Vec<_> = self.0.lock().drain().map(|(_, client)| client).collect();
        let closing = all.iter().map(|client| client.connection.close(grace));
        futures_util::future::join_all(closing).await;
    }

    /// A message from a client. `query` is that of its endpoint.
    pub(super) async fn post(&self, caller: &Caller, query: Option<&str>, body: &Bytes) -> Response {
        let id = query.into_iter().flat_map(|query| query.split('&')).find_map(|pair| pair.strip_prefix("session="));
        let client =
            id.and_then(|id| self.0.lock().get(id).filter(|client| client.owner == *caller.identity.name()).cloned());
        let Some(client) = client else {
            let error = ErrorObject::invalid_request("session_not_found", "there is no such session; connect again");
            return refused(StatusCode::NOT_FOUND, None, &error);
        };
        client.expiry.extend(caller);
        let frame = match jsonrpc::decode(body) {
            Ok(frame) => frame,
            Err(Invalid { id, error }) => return refused(StatusCode::BAD_REQUEST, id.as_ref(), &error),
        };
        // This transport has no newer revisions.
        if let PostKind::Stateless = post_kind(&frame, None) {
            let error = ErrorObject::invalid_request(
                "unsupported_transport",
                "this transport serves only revisions with a handshake; use /mcp for others",
            );
            // A notification gets no answer.
            if let Some(id) = frame.request_id().cloned() {
                let invalid = Invalid { id: Some(id), error };
                let _ = client.outbox.send(client.connection.refusal(&invalid)).await;
            }
        } else {
            let (connection, outbox) = (&client.connection, &client.outbox);
            let posted = Posted { frame, size: body.len(), headers: &Arc::default(), is_stateless: false };
            if let Some(answered) = connection.receive_post(&caller.identity, posted, outbox, true).await {
                answered.send(outbox).await;
            }
        }
        responses::empty(StatusCode::ACCEPTED)
    }
}

//! Change notifications for lists and resources: to initialized clients (resources by
//! `resources/subscribe`), in 2026-07-28 on `subscriptions/listen` streams.
//!
//! Source: MCP 2026-07-28, basic/patterns/subscriptions; the older revisions, server/tools
//! and server/resources.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::{Answer, Reply, resources};
use crate::catalog::Listings;
use crate::json::Raw;
use crate::protocol::error;
use crate::protocol::keys::SUBSCRIPTION_ID;
use crate::protocol::request::Filter;
use crate::protocol::result::{self, Empty, Envelope};
use crate::server::outgoing::Outgoing;
use crate::server::scope::Scope;
use crate::server::updates::{Subscriber, Uris};
use crate::server::wire::{CANCELLED, Cancelled, text};
use crate::server::{Connection, Server};

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// Notifies an initialized client of changes of the lists and of `uris` until the connection ends.
/// Changes count from this call on, not from the first poll.
pub(in crate::server) fn announce(connection: Arc<Connection>, uris: Arc<Uris>) -> impl Future<Output = ()> {
    let wanted = Wanted { tools: true, prompts: true, resources: true, uris };
    let changes = Changes::from_now(connection.server(), wanted);
    async move { changes.follow(&connection, None).await }
}

/// `resources/subscribe`.
pub(in crate::server) fn subscribe(connection: &Arc<Connection>, scope: Scope, uris: Arc<Uris>, uri: &str) -> Reply {
    let (server, uri) = (connection.server().clone(), uri.to_owned());
    let subscribe = async move {
        server.catalog.ready(server.settings.first_scan).await;
        if server.catalog.snapshot().provider_of(&uri).is_none() {
            return Err(error::resource_not_found(scope.revision, &uri));
        }
        if !uris.add(&uri, server.settings.subscriptions) {
            let limit = server.settings.subscriptions;
            let detail = format!(
                "a connection may subscribe to at most {limit} resources, and the total length of URIs is limited"
            );
            return Err(error::internal("too_many_subscriptions", &detail));
        }
        Ok("{}".to_owned())
    };
    Reply::Later(Box::pin(subscribe))
}

/// A stream of the changes that the client asks for. Its first message acknowledges the filter;
/// its result is sent when the connection ends.
pub(in crate::server) fn listen(connection: &Arc<Connection>, scope: Scope, filter: &Filter) -> Reply {
    let limit = connection.server().settings.subscriptions;
    // Invalid and excess URIs are left out of the acknowledgement.
    let uris: Vec<String> = filter.resources.iter().filter(|uri| resources::is_uri(uri)).take(limit).cloned().collect();
    let wanted = Wanted {
        tools: filter.tools_list_changed,
        prompts: filter.prompts_list_changed,
        resources: filter.resources_list_changed,
        uris: Arc::new(Uris::new(uris.iter().map(String::as_str))),
    };
    let connection = connection.clone();
    Reply::Listen(Box::pin(async move {
        let stream = Stream { id: Raw(scope.id.as_json()) };
        let agreed = Acknowledged {
            notifications: Agreed {
                tools_list_changed: wanted.tools,
                prompts_list_changed: wanted.prompts,
                resources_list_changed: wanted.resources,
                resource_subscriptions: &uris,
            },
            meta: stream,
        };
        let agreed = text(&agreed)?;
        let changes = Changes::from_now(connection.server(), wanted);
        connection.send(Outgoing::notification("notifications/subscriptions/acknowledged", Some(&agreed))).await;
        changes.follow(&connection, Some(stream)).await;
        end(&connection, &scope).await
    }))
}

/// The revision requires both: a listen that the server ends is cancelled
/// (basic/patterns/cancellation), and has a result (basic/patterns/subscriptions).
async fn end(connection: &Connection, scope: &Scope) -> Answer {
    let cancelled = text(&Cancelled { request_id: Raw(scope.id.as_json()), reason: "the server is stopping" })?;
    connection.send(Outgoing::notification(CANCELLED, Some(&cancelled))).await;
    let host_meta = [(SUBSCRIPTION_ID, Raw(scope.id.as_json()))];
    let envelope = Envelope { host_meta: &host_meta, ..Envelope::default() };
    result::object(scope.revision, &connection.server().implementation, &Empty {}, envelope)
}

/// The wire's `SubscriptionsAcknowledgedNotificationParams`.
#[derive(Serialize)]
struct Acknowledged<'a> {
    notifications: Agreed<'a>,
    #[serde(rename = "_meta")]
    meta: Stream<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Agreed<'a> {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    resource_subscriptions: &'a [String],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The `_meta` of messages on a listen stream.
#[derive(Clone, Copy, Serialize)]
struct Stream<'a> {
    #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
    id: Raw<'a>,
}

/// Params of a change: of a list, or of the resource with that URI.
#[derive(Serialize)]
struct Changed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Stream<'a>>,
}

struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Arc<Uris>,
}

/// The changes from a point in time on.
struct Changes {
    wanted: Wanted,
    listings: watch::Receiver<Listings>,
    /// `None` during the first scan: what it finds is no change.
    seen: Option<Listings>,
    updates: Subscriber,
}

impl Changes {
    fn from_now(server: &Server, wanted: Wanted) -> Self {
        let mut listings = server.catalog.watch();
        let seen = server.catalog.is_ready().then(|| *listings.borrow_and_update());
        Self { listings, seen, updates: server.updates.subscribe(wanted.uris.clone()), wanted }
    }

    /// Sends a notification for each change, with a pause between two rounds of the same kind, and
    /// with `meta` in each. Returns when the connection begins to close.
    async fn follow(mut self, connection: &Connection, meta: Option<Stream<'_>>) {
        let mut stopping = connection.server().stopping.subscribe();
        tokio::select! {
            () = self.send(connection, meta) => {}
            () = connection.closing().cancelled() => {}
            // Never an error: the connection holds the server.
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
    }

    async fn send(&mut self, connection: &Connection, meta: Option<Stream<'_>>) {
        let server = connection.server();
        let mut seen = match self.seen {
            Some(seen) => seen,
            None => {
                // A list request waits as long, so no change is missed in between.
                server.catalog.ready(server.settings.first_scan).await;
                *self.listings.borrow_and_update()
            }
        };
        let (mut lists_due, mut updates_due) = (Instant::now(), Instant::now());
        loop {
            tokio::select! {
                changed = async { sleep_until(lists_due).await; self.listings.changed().await } => {
                    // Never an error: the server holds the catalog.
                    if changed.is_err() {
                        return;
                    }
                    let now = *self.listings.borrow_and_update();
                    for method in changes(&self.wanted, seen, now) {
                        let params = meta.and_then(|_| text(&Changed { uri: None, meta }).ok());
                        connection.send(Outgoing::notification(method, params.as_deref())).await;
                    }
                    seen = now;
                    lists_due = Instant::now() + server.settings.list_changed_pause;
                }
                uris = async { sleep_until(updates_due).await; self.updates.next().await } => {
                    for uri in uris {
                        let params = text(&Changed { uri: Some(&uri), meta }).ok();
                        connection.send(Outgoing::notification(RESOURCE_UPDATED, params.as_deref())).await;
                    }
                    updates_due = Instant::now() + server.settings.updated_pause;
                }
            }
        }
    }
}

fn changes(wanted: &Wanted, seen: Listings, now: Listings) -> impl Iterator<Item = &'static str> {
    [
        (wanted.tools && seen.tools != now.tools).then_some(TOOLS_CHANGED),
        (wanted.prompts && seen.prompts != now.prompts).then_some(PROMPTS_CHANGED),
        (wanted.resources && seen.resources != now.resources).then_some(RESOURCES_CHANGED),
    ]
    .into_iter()
    .flatten()
}

#[cfg(test)]
mod tests;

//! Change notifications for lists and resources: to initialized clients (resources by
//! `resources/subscribe`), in 2026-07-28 on `subscriptions/listen` streams.
//!
//! Source: MCP 2026-07-28, basic/patterns/subscriptions; the older revisions, server/tools
//! and server/resources.

use std::sync::Arc;

use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::resources;
use super::tasks::notify;
use crate::json::Raw;
use crate::protocol::error;
use crate::protocol::keys::SUBSCRIPTION_ID;
use crate::protocol::request::Filter;
use crate::protocol::result::{self, Empty, Envelope};
use crate::rights::Item;
use crate::server::Server;
use crate::server::changes::updates::Uris;
use crate::server::changes::{Follower, Meta, Wanted};
use crate::server::outgoing::Outgoing;
use crate::server::own_stream::OwnStream;
use crate::server::response::{Dispatched, Response};
use crate::server::scope::Scope;
use crate::server::wire::{CANCELLED, Cancelled, text};

/// Notifies an initialized client of changes of the lists and of `uris` until the connection ends.
/// Changes count from this call on, not from the first poll.
pub(in crate::server) fn announce(own: OwnStream, uris: Arc<Uris>) -> impl Future<Output = ()> {
    let wanted = Wanted { tools: true, prompts: true, resources: true, uris };
    let follower = own.followers.add(own.changes(wanted, None));
    async move { follow(&own, &follower).await }
}

/// `resources/subscribe`.
pub(in crate::server) fn subscribe(server: &Arc<Server>, scope: Scope, uris: Arc<Uris>, uri: &str) -> Dispatched {
    let (server, uri) = (server.clone(), uri.to_owned());
    let subscribe = async move {
        let not_found = || error::resource_not_found(scope.revision, &uri);
        let snapshot = server.snapshot_with(|snapshot| snapshot.provider_of(&uri).is_some()).await;
        let provider = snapshot.provider_of(&uri).ok_or_else(not_found)?;
        scope.check(&*provider, Item::Resource(&uri), not_found).result?;
        if !uris.add(&uri, server.settings.subscriptions) {
            let limit = server.settings.subscriptions;
            let detail = format!(
                "a connection may subscribe to at most {limit} resources, and the total length of URIs is limited"
            );
            return Err(error::internal("too_many_subscriptions", &detail));
        }
        Ok("{}".to_owned())
    };
    Dispatched::Later(Box::pin(subscribe))
}

/// A stream of the changes that the client asks for. Its first message acknowledges the filter;
/// its result is sent when the connection ends.
pub(in crate::server) fn listen(own: &OwnStream, scope: Scope, filter: &Filter) -> Dispatched {
    let limit = own.server.settings.subscriptions;
    // Invalid and excess URIs are left out of the acknowledgement. Not those that the client may not read, of which it
    // is told nothing: it would learn that they are there.
    let uris: Vec<String> = filter.resources.iter().filter(|uri| resources::is_uri(uri)).take(limit).cloned().collect();
    let wanted = Wanted {
        tools: filter.tools_list_changed,
        prompts: filter.prompts_list_changed,
        resources: filter.resources_list_changed,
        uris: Arc::new(Uris::new(uris.iter().map(String::as_str))),
    };
    let (own, tasks) = (own.clone(), filter.tasks.clone());
    Dispatched::Listen(Box::pin(async move {
        let (followed, tasks) = notify::agree(&own.server, &scope, &tasks).await?;
        let agreed = Acknowledged {
            notifications: Agreed {
                tools_list_changed: wanted.tools,
                prompts_list_changed: wanted.prompts,
                resources_list_changed: wanted.resources,
                resource_subscriptions: &uris,
                task_ids: &tasks,
            },
            meta: Meta::of(scope.id.as_json()),
        };
        let agreed = text(&agreed)?;
        let changes = own.changes(wanted, Some(scope.id.as_json().into()));
        let acknowledged = Outgoing::notification("notifications/subscriptions/acknowledged", Some(&agreed));
        own.send(acknowledged).await;
        // Only now, so that nothing precedes the acknowledgement.
        let follower = own.followers.add(changes);
        tokio::select! {
            () = follow(&own, &follower) => {}
            () = followed.notify(&own, &scope) => {}
        }
        end(&own, &scope).await
    }))
}

/// The revision requires both: a listen that the server ends is cancelled
/// (basic/patterns/cancellation), and has a result (basic/patterns/subscriptions).
async fn end(own: &OwnStream, scope: &Scope) -> Response {
    let cancelled = text(&Cancelled { request_id: Raw(scope.id.as_json()), reason: "the server ends this stream" })?;
    own.send(Outgoing::notification(CANCELLED, Some(&cancelled))).await;
    let host_meta = [(SUBSCRIPTION_ID, Raw(scope.id.as_json()))];
    let envelope = Envelope { host_meta: &host_meta, ..Envelope::default() };
    result::object(scope.revision, &own.server.implementation, &Empty {}, envelope)
}

/// The wire's `SubscriptionsAcknowledgedNotificationParams`.
#[derive(Serialize)]
struct Acknowledged<'a> {
    notifications: Agreed<'a>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
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
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    task_ids: &'a [String],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Notifies of changes on a stream until the connection begins to close, with a pause between two
/// rounds of the same kind.
async fn follow(own: &OwnStream, follower: &Follower) {
    let mut stopping = own.server.stopping.subscribe();
    tokio::select! {
        () = notify(&own.server, follower) => {}
        () = own.closing.cancelled() => {}
        // Never an error: the connection holds the server.
        _ = stopping.wait_for(|stopping| *stopping) => {}
    }
}

async fn notify(server: &Server, follower: &Follower) {
    let (mut listings, mut updates) = (server.catalog.watch(), server.updates.watch());
    let mut rights = server.rights.watch();
    // What changed since the stream began has not been notified yet.
    listings.mark_changed();
    updates.mark_changed();
    rights.mark_changed();
    let published = server.catalog.listable(server.settings.first_list).await;
    follower.lock().await.count_from(published);
    let (mut lists_due, mut updates_due) = (Instant::now(), Instant::now());
    loop {
        tokio::select! {
            changed = async {
                sleep_until(lists_due).await;
                tokio::select! {
                    changed = listings.changed() => changed,
                    changed = rights.changed() => changed,
                }
            } => {
                // Never an error: the server holds the catalog and the rights.
                if changed.is_err() {
                    return;
                }
                follower.lock().await.send_lists(server).await;
                lists_due = Instant::now() + server.settings.list_changed_pause;
            }
            changed = async { sleep_until(updates_due).await; updates.changed().await } => {
                if changed.is_err() {
                    return;
                }
                if follower.lock().await.send_updates(server).await {
                    updates_due = Instant::now() + server.settings.updated_pause;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

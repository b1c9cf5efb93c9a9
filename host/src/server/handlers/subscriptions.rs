//! Telling clients that a list has changed: unasked after a handshake, and on
//! `subscriptions/listen` streams in 2026-07-28.
//!
//! Source: MCP 2026-07-28, basic/patterns/subscriptions; the older revisions, server/tools.

use std::sync::Arc;

use super::{Answer, Reply};
use crate::catalog::Listings;
use crate::jsonrpc::encode;
use crate::protocol::meta::SUBSCRIPTION_ID;
use crate::protocol::request::Filter;
use crate::protocol::result::{self, Envelope};
use crate::server::Connection;
use crate::server::scope::Scope;
use crate::server::wire::Object;

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

/// Announces every change to a client that shook hands, until the connection ends.
pub(in crate::server) async fn announce(connection: Arc<Connection>) {
    follow(&connection, Wanted { tools: true, prompts: true, resources: true }, |method| {
        encode::notification(method, None)
    })
    .await;
}

/// A stream of the changes that the client asks for. Its first message says which of them
/// it will get; its result comes when the connection ends.
pub(in crate::server) fn listen(connection: &Arc<Connection>, scope: Scope, filter: &Filter) -> Reply {
    let wanted = Wanted {
        tools: filter.tools_list_changed,
        prompts: filter.prompts_list_changed,
        resources: filter.resources_list_changed,
    };
    let connection = connection.clone();
    Reply::Listen(Box::pin(async move {
        let stream = Object::default().raw(SUBSCRIPTION_ID, scope.id.as_json()).finish();
        let mut agreed = Object::default();
        if wanted.tools {
            agreed = agreed.raw("toolsListChanged", "true");
        }
        if wanted.prompts {
            agreed = agreed.raw("promptsListChanged", "true");
        }
        if wanted.resources {
            agreed = agreed.raw("resourcesListChanged", "true");
        }
        let agreed = Object::default().raw("notifications", &agreed.finish()).raw("_meta", &stream).finish();
        connection.send(encode::notification("notifications/subscriptions/acknowledged", Some(&agreed))).await;
        let params = Object::default().raw("_meta", &stream).finish();
        follow(&connection, wanted, |method| encode::notification(method, Some(&params))).await;
        end(&connection, &scope).await
    }))
}

/// The revision wants both: that a listen which the server tears down is cancelled
/// (basic/patterns/cancellation), and that it has a result (basic/patterns/subscriptions).
async fn end(connection: &Connection, scope: &Scope) -> Answer {
    let cancelled =
        Object::default().raw("requestId", scope.id.as_json()).string("reason", "the server is stopping").finish();
    connection.send(encode::notification("notifications/cancelled", Some(&cancelled))).await;
    let host_meta = [(SUBSCRIPTION_ID, scope.id.as_json())];
    let envelope = Envelope { host_meta: &host_meta, ..Envelope::default() };
    Ok(result::object(scope.revision, &connection.server().implementation, "", envelope))
}

#[derive(Clone, Copy)]
struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
}

/// Sends what `notification` makes of a method for each list that has changed, with a pause
/// between two rounds. Returns when the connection is about to end.
async fn follow(connection: &Connection, wanted: Wanted, notification: impl Fn(&'static str) -> String) {
    let server = connection.server();
    let mut closing = connection.closing();
    let follow = async {
        let mut listings = server.catalog.watch();
        // A list that is asked for now waits as long, so nothing is missed in between.
        server.catalog.ready(server.settings.first_scan).await;
        let mut seen = *listings.borrow_and_update();
        // An error means that the catalog is gone, and the server holds it.
        while listings.changed().await.is_ok() {
            let now = *listings.borrow_and_update();
            for method in changes(wanted, seen, now) {
                connection.send(notification(method)).await;
            }
            seen = now;
            tokio::time::sleep(server.settings.list_changed_pause).await;
        }
    };
    tokio::select! {
        () = follow => {}
        // An error means that the connection is gone, and we were lent it.
        _ = closing.wait_for(|closing| *closing) => {}
    }
}

fn changes(wanted: Wanted, seen: Listings, now: Listings) -> impl Iterator<Item = &'static str> {
    [
        (wanted.tools && seen.tools != now.tools).then_some(TOOLS_CHANGED),
        (wanted.prompts && seen.prompts != now.prompts).then_some(PROMPTS_CHANGED),
        (wanted.resources && seen.resources != now.resources).then_some(RESOURCES_CHANGED),
    ]
    .into_iter()
    .flatten()
}

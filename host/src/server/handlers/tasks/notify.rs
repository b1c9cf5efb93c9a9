//! The status of tasks on a stream of `subscriptions/listen`.
//!
//! Source: MCP extension `io.modelcontextprotocol/tasks`, "Notifications".

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use super::{fetched, find};
use crate::protocol::keys::TASKS;
use crate::protocol::{ErrorObject, error};
use crate::server::Server;
use crate::server::changes::Meta;
use crate::server::outgoing::Outgoing;
use crate::server::own_stream::OwnStream;
use crate::server::scope::Scope;
use crate::server::wire::task::Task;
use crate::server::wire::text;
use crate::store::Changed;

const METHOD: &str = "notifications/tasks";
/// Tasks of one stream: the record of each is read, which may be megabytes.
const FOLLOWED: usize = 64;
/// Between two notifications.
const PAUSE: Duration = Duration::from_millis(50);

/// The tasks that a stream follows.
pub(in crate::server) struct Followed {
    /// When they were last changed, by key.
    known: HashMap<String, u64>,
    changes: Option<broadcast::Receiver<Changed>>,
}

/// Those of the wanted tasks that are the sender's, and their ids.
///
/// # Errors
/// If the client does not declare the extension.
pub(in crate::server) async fn agree(
    server: &Server,
    scope: &Scope,
    wanted: &[String],
) -> Result<(Followed, Vec<String>), ErrorObject> {
    let mut followed = Followed { known: HashMap::new(), changes: None };
    let mut agreed = Vec::new();
    if wanted.is_empty() {
        return Ok((followed, agreed));
    }
    if !scope.client.capabilities.tasks {
        return Err(error::missing_extension(TASKS, "follow tasks"));
    }
    let Ok(tasks) = server.tasks(METHOD) else { return Ok((followed, agreed)) };
    // Before they are read, so that no change is missed.
    followed.changes = Some(tasks.ledger.watch());
    let mut once = HashSet::new();
    for id in wanted.iter().filter(|id| once.insert(id.as_str())).take(FOLLOWED) {
        if let Ok((key, kept)) = find(tasks, scope, id).await {
            followed.known.insert(key, kept.record.updated);
            agreed.push(id.clone());
        }
    }
    Ok((followed, agreed))
}

impl Followed {
    /// Notifies of changes. Never returns.
    pub(in crate::server) async fn notify(mut self, own: &OwnStream, scope: &Scope) {
        let Some(changes) = &mut self.changes else { return std::future::pending().await };
        let Ok(tasks) = own.server.tasks(METHOD) else { return std::future::pending().await };
        loop {
            let keys: Vec<String> = match changes.recv().await {
                Ok(Changed::Key(key)) if self.known.contains_key(&key) => vec![key],
                Ok(Changed::Key(_)) => continue,
                Ok(Changed::All) | Err(RecvError::Lagged(_)) => self.known.keys().cloned().collect(),
                // Not while the server is there.
                Err(RecvError::Closed) => return std::future::pending().await,
            };
            for key in keys {
                let Ok(Some(kept)) = tasks.ledger.read(&key).await else { continue };
                if self.known.insert(key.clone(), kept.record.updated) == Some(kept.record.updated) {
                    continue;
                }
                if kept.record.outcome.is_some()
                    && fetched(&own.server, scope, tasks, &key, &kept.record).await.is_err()
                {
                    continue;
                }
                let meta = Meta::of(scope.id.as_json());
                let params = Task::detailed(&kept.record).and_then(|task| text(&Notified { task, meta }));
                let Ok(params) = params else { continue };
                own.send(Outgoing::notification(METHOD, Some(&params))).await;
                sleep(PAUSE).await;
            }
        }
    }
}

#[derive(Serialize)]
struct Notified<'a> {
    #[serde(flatten)]
    task: Task<'a>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

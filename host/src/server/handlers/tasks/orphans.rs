//! Tasks whose process has died while it ran them: they run again if their tool may be repeated, or have failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::resume::again;
use crate::server::Server;
use crate::server::tasks::{Tasks, interrupted};
use crate::store::{Durability, StoreError};
use crate::tasks::{Orphan, Record};

/// How often it is looked for them.
const INTERVAL: Duration = Duration::from_secs(2);
/// How often expired tasks are removed, and how many at a time.
const REMOVAL: Duration = Duration::from_secs(60);
const REMOVED: usize = 1000;

impl Server {
    /// Takes over tasks of processes that are gone, and removes those that have expired. Returns only if this server
    /// has no tasks.
    pub async fn tend_tasks(self: Arc<Self>) {
        let Some(tasks) = &self.tasks else { return };
        tasks.used().await;
        let mut removal = Instant::now();
        loop {
            if let Err(error) = take_over(&self, tasks).await {
                tracing::warn!("failed to look for interrupted tasks: {error}");
            }
            if Instant::now() >= removal {
                removal = Instant::now() + REMOVAL;
                remove(tasks).await;
            }
            sleep(INTERVAL).await;
        }
    }
}

async fn remove(tasks: &Tasks) {
    loop {
        match tasks.ledger.remove_expired(REMOVED).await {
            Ok(REMOVED) => {}
            Ok(0) => return,
            Ok(removed) => return tracing::debug!(removed, "removed expired tasks"),
            Err(error) => return tracing::warn!("failed to remove expired tasks: {error}"),
        }
    }
}

async fn take_over(server: &Arc<Server>, tasks: &Arc<Tasks>) -> Result<(), StoreError> {
    for orphan in tasks.lease.orphans().await? {
        adopt(server, tasks, &orphan).await?;
        tasks.lease.settle(&orphan).await?;
    }
    Ok(())
}

async fn adopt(server: &Arc<Server>, tasks: &Arc<Tasks>, orphan: &Orphan) -> Result<(), StoreError> {
    let Orphan { key, node, .. } = orphan;
    let Some(kept) = tasks.ledger.read(key).await? else { return Ok(()) };
    let (id, tool) = (&kept.record.id, &kept.record.tool);
    if kept.record.idempotent {
        let cancelled = CancellationToken::new();
        if let Err(why) = tasks.run(key, &kept.record, &cancelled).await {
            tracing::warn!(id, tool, "an interrupted task cannot run again now: {}", why.error().message);
        } else {
            let take = |record: &mut Record| record.take_over(node, tasks.node()).then_some(());
            match tasks.ledger.change(key, Durability::Power, take).await? {
                Some((record, ())) => {
                    tracing::info!(id, tool, "an interrupted task runs again");
                    again(server, tasks, key, &record, &cancelled).await;
                }
                None => tasks.stopped(key).await,
            }
            return Ok(());
        }
    }
    let (status, message, outcome) = interrupted();
    let fail = |record: &mut Record| {
        let is_orphan = record.take_over(node, tasks.node());
        (is_orphan && record.end(status, message.clone(), outcome.clone())).then_some(())
    };
    if tasks.ledger.change(key, Durability::Power, fail).await?.is_some() {
        tracing::warn!(id, tool, "a task has failed: the server that ran it has ended");
    }
    Ok(())
}

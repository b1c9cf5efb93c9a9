//! Tasks whose process has died while it ran them: they run again if their tool may be repeated, or have failed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::resume::again;
use crate::audit::{Event, Record as AuditRecord};
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
                tasks.report("look for interrupted tasks", &error);
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
            Err(error) => return tasks.report("remove expired tasks", &error),
        }
    }
}

async fn take_over(server: &Arc<Server>, tasks: &Arc<Tasks>) -> Result<(), StoreError> {
    for orphan in tasks.lease.orphans().await? {
        // One that cannot be read stops no other.
        if let Err(error) = adopt(server, tasks, &orphan).await {
            tasks.report("take over an interrupted task", &error);
            continue;
        }
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
        match tasks.run(key, &kept.record, &cancelled).await {
            Ok(run) => {
                let take = |record: &mut Record| record.take_over(node, tasks.node()).then_some(());
                if let Some((record, ())) = tasks.ledger.change(key, Durability::Power, take).await? {
                    tracing::info!(id, tool, "an interrupted task runs again");
                    again(server, tasks, run, &record, &cancelled).await;
                }
                return Ok(());
            }
            Err(why) => tracing::warn!(id, tool, "an interrupted task cannot run again: {}", why.error(tasks).message),
        }
    }
    let (status, message, outcome) = interrupted();
    let fail = |record: &mut Record| {
        let is_orphan = record.take_over(node, tasks.node());
        (is_orphan && record.end(status, message.clone(), outcome.clone())).then_some(())
    };
    if tasks.ledger.change(key, Durability::Power, fail).await?.is_some() {
        tracing::warn!(id, tool, "a task has failed: the server that ran it has ended");
        let record = AuditRecord {
            plugin: Some(kept.record.plugin.clone()),
            principal: Some(kept.record.requester.name().into()),
            tool: Some(AuditRecord::capped(tool)),
            task: Some(AuditRecord::capped(id)),
            code: Some("interrupted"),
            ..AuditRecord::new(Event::Task)
        };
        server.settings.audit.record(&record);
    }
    Ok(())
}

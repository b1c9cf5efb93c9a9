//! What a server keeps in the files of one machine, as the entries of a store.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc::Sender;

use super::{Entries, MARK};
use crate::approvals::{self, Approvals};
use crate::pins::{self, PinFile};
use crate::plugin::KeyvalueFile;
use crate::proposals::{self, Proposals};
use crate::shared_state::parsed;
use crate::store::{Entry, Store, StoreError};

/// The files of one machine.
pub struct Machine {
    pub pins: PinFile,
    pub approvals: Approvals,
    pub proposals: Proposals,
    pub values: KeyvalueFile,
    pub tasks: Arc<dyn Store>,
}

#[async_trait]
impl Entries for Machine {
    async fn read(&self, entries: &Sender<Entry>) -> Result<(), StoreError> {
        let entry = |key: String, value, expires| Entry { key, value, version: 0, expires };
        let mut documents = Vec::new();
        documents.extend(self.pins.entry().map_err(failed)?.map(|pins| entry(pins::KEY.to_owned(), pins, None)));
        documents.extend(self.approvals.entries().map_err(failed)?);
        documents.extend(self.proposals()?.map(|proposals| entry(proposals::KEY.to_owned(), proposals, None)));
        for document in documents {
            if entries.send(document).await.is_err() {
                return Ok(());
            }
        }
        let mut after = Some(0);
        while let Some(row) = after {
            let (values, next) = self.values.list(row).await?;
            for (name, value) in values {
                if entries.send(entry(name, value, None)).await.is_err() {
                    return Ok(());
                }
            }
            after = next;
        }
        Entries::read(&self.tasks, entries).await
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match key.split('/').next().unwrap_or_default() {
            pins::KEY => self.pins.entry().map_err(failed),
            proposals::KEY => self.proposals(),
            approvals::KEY => {
                let mut all = self.approvals.entries().map_err(failed)?.into_iter();
                Ok(all.find(|entry| entry.key == key).map(|entry| entry.value))
            }
            "keyvalue" => self.values.get(key).await,
            _ => Entries::get(&self.tasks, key).await,
        }
    }

    async fn put(&self, entry: &Entry) -> Result<bool, StoreError> {
        let Entry { key, value, expires, .. } = entry;
        match key.split('/').next().unwrap_or_default() {
            pins::KEY => self.pins.put_entry(value.clone()).map_err(failed).map(|()| true),
            proposals::KEY => {
                let all: Vec<_> = parsed(value).map_err(failed)?;
                self.proposals.replace(&all).map_err(failed).map(|()| true)
            }
            approvals::KEY => self.approvals.put_entry(key, value, *expires).map_err(failed),
            "keyvalue" => self.values.put(key, value.clone()).await.map(|()| true),
            "tasks" | MARK => Entries::put(&self.tasks, entry).await,
            // Keys of request states, and what was spent, are of each process.
            _ => Ok(false),
        }
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        Entries::remove(&self.tasks, key).await
    }
}

impl Machine {
    fn proposals(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let all = self.proposals.read().map_err(failed)?;
        (!all.is_empty()).then(|| serde_json::to_vec(&all).map_err(io::Error::from)).transpose().map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError(error.to_string())
}

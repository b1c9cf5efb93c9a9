//! What a server keeps in the files of one machine, as the entries of a store.

use std::path::PathBuf;
use std::sync::Mutex;
use std::{fs, io};

use async_trait::async_trait;
use tokio::sync::mpsc::Sender;
use wharf_report::ShowPath as _;

use super::{Entries, MARK, Shared, kind};
use crate::approvals::{self, Approvals};
use crate::in_use::InUse;
use crate::os::files::{self, FileError};
use crate::os::private::{self, Durability};
use crate::pins::{self, PinFile};
use crate::plugin::KeyvalueFile;
use crate::proposals::{self, Proposals};
use crate::shared_state::parsed;
use crate::store::{Entry, StoreError};
use crate::sync::lock;
use crate::tasks;

/// Bytes of the mark.
const MAX_MARK: u64 = 64 << 10;

/// The files of one machine.
pub struct Machine {
    pub pins: PinFile,
    pub approvals: Approvals,
    pub proposals: Proposals,
    pub values: KeyvalueFile,
    pub tasks: Shared,
    /// The state folder.
    pub folder: PathBuf,
    pub held: Mutex<Option<InUse>>,
}

#[async_trait]
impl Entries for Machine {
    async fn read(&self, entries: &Sender<Entry>) -> Result<(), StoreError> {
        let entry = |key: String, value, expires| Entry { key, value, version: 0, expires };
        let mut documents = Vec::new();
        documents.extend(self.pins.entry().map_err(failed)?.map(|pins| entry(pins::KEY.to_owned(), pins, None)));
        documents.extend(self.decisions()?);
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
        self.tasks.read_below(tasks::PREFIX, entries).await
    }

    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match kind(key) {
            pins::KEY => self.pins.entry().map_err(failed),
            proposals::KEY => self.proposals(),
            approvals::KEY => {
                let mut all = self.decisions()?.into_iter();
                Ok(all.find(|entry| entry.key == key).map(|entry| entry.value))
            }
            "keyvalue" => self.values.get(key).await,
            MARK => self.mark(),
            _ => self.tasks.get(key).await,
        }
    }

    async fn put(&self, entry: &Entry) -> Result<bool, StoreError> {
        let Entry { key, value, expires, .. } = entry;
        match kind(key) {
            pins::KEY => self.pins.put_entry(value.clone()).map_err(failed).map(|()| true),
            proposals::KEY => {
                let all: Vec<_> = parsed(value).map_err(failed)?;
                self.proposals.replace(&all).map_err(failed).map(|()| true)
            }
            approvals::KEY => {
                let put = self.approvals.put_entry(key, value, *expires);
                put.map_err(|error| failed(format!("{error}: {}", self.approvals)))
            }
            "keyvalue" => self.values.put(key, value.clone()).await.map(|()| true),
            MARK => {
                let written = private::write(&self.folder.join(MARK), &[value.as_slice()], Durability::Synced);
                written.map_err(|error| self.failed(&error)).map(|()| true)
            }
            "tasks" => self.tasks.put(entry).await,
            // Keys of request states, and what was spent, are of each process.
            _ => Ok(false),
        }
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        if key != MARK {
            return self.tasks.remove(key).await;
        }
        match fs::remove_file(self.folder.join(MARK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(&error)),
            _ => Ok(()),
        }
    }

    async fn claim(&self, now: u64) -> Result<bool, StoreError> {
        let Some(held) = InUse::alone(&self.folder).map_err(|error| self.failed(&error))? else { return Ok(false) };
        // Those of other users, if the tasks are in a file of their own.
        if self.tasks.is_used(now).await? {
            return Ok(false);
        }
        *lock(&self.held) = Some(held);
        Ok(true)
    }

    async fn release(&self) {
        *lock(&self.held) = None;
    }
}

impl Machine {
    fn decisions(&self) -> Result<Vec<Entry>, StoreError> {
        self.approvals.entries().map_err(|error| failed(format!("{error}: {}", self.approvals)))
    }

    fn mark(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match files::read(&self.folder.join(MARK), MAX_MARK) {
            Ok(from) => Ok(Some(from)),
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(format!("{error}: {}", self.folder.join(MARK).shown()))),
        }
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError(format!("{error}: {}", self.folder.shown()))
    }

    fn proposals(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let all = self.proposals.read().map_err(|error| failed(format!("{error}: {}", self.proposals)))?;
        (!all.is_empty()).then(|| serde_json::to_vec(&all).map_err(io::Error::from)).transpose().map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError(error.to_string())
}

//! Values in the database file of this machine.

use std::sync::Arc;

use async_trait::async_trait;

use super::space::Space;
use super::store::{Store, StoreError};
use super::values::{Entry, Owner, Page, Values};

pub(super) struct LocalValues {
    pub(super) store: Arc<Store>,
    pub(super) owner: Owner,
}

/// What the file calls an owner.
pub(super) fn owner(plugin: &str, subject: Option<&str>) -> String {
    subject.map_or_else(|| plugin.to_owned(), |subject| format!("{plugin}/{subject}"))
}

impl LocalValues {
    async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(Space<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let Owner { plugin, subject, bucket, limits } = self.owner.clone();
        self.store
            .run(move |connection| {
                let owner = owner(&plugin, subject.as_deref());
                work(Space { connection, owner: &owner, bucket: &bucket, limits })
            })
            .await
    }
}

#[async_trait]
impl Values for LocalValues {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        self.run(move |space| space.get(&key)).await
    }

    async fn exists(&self, key: String) -> Result<bool, StoreError> {
        self.run(move |space| space.exists(&key)).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        self.run(move |space| space.get_many(keys)).await
    }

    /// In the order in which they were first set.
    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        self.run(move |space| space.keys(cursor)).await
    }

    async fn set_many(&self, entries: Vec<Entry>) -> Result<(), StoreError> {
        self.run(move |mut space| space.set_many(&entries)).await
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.run(move |mut space| space.delete_many(&keys)).await
    }

    async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        self.run(move |mut space| space.increment(&key, delta)).await
    }
}

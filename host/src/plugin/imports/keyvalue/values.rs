//! A bucket's values, wherever they are.

use std::sync::Arc;

use async_trait::async_trait;

use super::limits::Limits;
use super::store::StoreError;

/// A page of keys, and the cursor of the next one.
pub(super) type Page = (Vec<String>, Option<u64>);
/// A key and its value.
pub(super) type Entry = (String, Vec<u8>);

/// Whose bucket it is.
#[derive(Clone)]
pub(super) struct Owner {
    pub(super) plugin: Arc<str>,
    /// The hash of the user's name, which may be long, if each has values of their own.
    pub(super) subject: Option<Arc<str>>,
    pub(super) bucket: Arc<str>,
    pub(super) limits: Limits,
}

#[async_trait]
pub(super) trait Values: Send + Sync {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError>;
    async fn exists(&self, key: String) -> Result<bool, StoreError>;
    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError>;
    /// The keys after that cursor, in an order that other writes leave as it is.
    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError>;
    async fn set_many(&self, entries: Vec<Entry>) -> Result<(), StoreError>;
    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError>;
    /// Adds to a number that is stored as decimal text; a missing key counts as 0.
    async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError>;
}

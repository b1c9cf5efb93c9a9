//! A bucket whose operations go through the tape of a call.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::store::StoreError;
use super::values::{Entry, Page, Values};
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept::{Kept, member};

pub(super) struct Taped {
    pub(super) tape: Tape,
    pub(super) bucket: String,
    /// Not used in a replay.
    pub(super) real: Box<dyn Values>,
}

impl Taped {
    async fn through<A: Kept>(
        &self,
        what: &'static str,
        name: &str,
        with: Value,
        real: impl Future<Output = Result<A, StoreError>>,
    ) -> Result<A, StoreError> {
        let with = json!({"bucket": self.bucket, name: with});
        self.tape.through_async(what, with, real).await
    }
}

#[async_trait]
impl Values for Taped {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        self.through("keyvalue get", "key", key.keep(), self.real.get(key)).await
    }

    async fn exists(&self, key: String) -> Result<bool, StoreError> {
        self.through("keyvalue exists", "key", key.keep(), self.real.exists(key)).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        self.through("keyvalue get many", "keys", keys.keep(), self.real.get_many(keys)).await
    }

    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        self.through("keyvalue list keys", "cursor", cursor.keep(), self.real.keys(cursor)).await
    }

    async fn set_many(&self, entries: Vec<Entry>) -> Result<(), StoreError> {
        self.through("keyvalue set", "entries", entries.keep(), self.real.set_many(entries)).await
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.through("keyvalue delete", "keys", keys.keep(), self.real.delete_many(keys)).await
    }

    async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        let with = json!([key, delta]);
        self.through("keyvalue increment", "by", with, self.real.increment(key, delta)).await
    }
}

impl Kept for StoreError {
    fn keep(&self) -> Value {
        match self {
            Self::Refused(why) => member("refused", why.keep()),
            // The reason is for the operator, and the guest does not get it.
            Self::Failed(_) | Self::Full(_) => member("failed", "the host's store failed".into()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        match value.get("refused") {
            Some(why) => Kept::read(why).map(Self::Refused),
            None => Kept::read(value.get("failed")?).map(Self::Failed),
        }
    }
}

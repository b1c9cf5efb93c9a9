//! Values that the server of a plugin keeps, for a plugin in a process of its own: both sides of what is asked.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::limits::{Limits, MAX_BUCKET_NAME};
use super::name;
use super::place::Keyvalue;
use super::store::StoreError;
use super::values::{Entry, Owner, Page, Values};
use crate::identity::Identity;
use crate::plugin::id::PluginId;
use crate::plugin::policy::grants::KeyvalueGrant;
use crate::plugin::tape::kept::Kept;

/// Maximum bytes of what one operation writes.
const MAX_WRITTEN: usize = 8 << 20;

/// Asks the server.
#[async_trait]
pub trait AskServer: Send + Sync {
    /// `None`: it does not answer.
    async fn ask(&self, question: Value) -> Option<Value>;
}

pub(super) struct RemoteValues {
    pub(super) server: Arc<dyn AskServer>,
    pub(super) owner: Owner,
}

impl RemoteValues {
    async fn ask<R: Kept>(&self, operation: &str, with: Value) -> Result<R, StoreError> {
        let Owner { plugin: _, subject, bucket, limits: Limits { quota, total } } = &self.owner;
        let question = json!({
            "keyvalue": operation, "with": with, "bucket": **bucket, "subject": subject.as_deref(), "quota": quota, "total": total,
        });
        let answer = self.server.ask(question).await;
        answer.as_ref().and_then(Kept::read).unwrap_or_else(|| Err(StoreError::Failed("no answer".into())))
    }
}

#[async_trait]
impl Values for RemoteValues {
    async fn get(&self, key: String) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask("get", key.keep()).await
    }

    async fn exists(&self, key: String) -> Result<bool, StoreError> {
        self.ask("exists", key.keep()).await
    }

    async fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        self.ask("get_many", keys.keep()).await
    }

    async fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        self.ask("keys", cursor.keep()).await
    }

    async fn set_many(&self, entries: Vec<Entry>) -> Result<(), StoreError> {
        let bytes: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > MAX_WRITTEN {
            let why = format!("the batch has {bytes} bytes; the limit in a process of its own is {MAX_WRITTEN}");
            return Err(StoreError::Refused(why));
        }
        self.ask("set_many", entries.keep()).await
    }

    async fn delete_many(&self, keys: Vec<String>) -> Result<(), StoreError> {
        self.ask("delete_many", keys.keep()).await
    }

    async fn increment(&self, key: String, delta: u64) -> Result<u64, StoreError> {
        self.ask("increment", (key, delta).keep()).await
    }
}

impl Keyvalue {
    /// Answers what [`RemoteValues`] asks. `grants` are those of the plugin's callers, `callers` those who have a call
    /// running: what is asked beyond them is not answered, for the process may be under a guest's control.
    pub(in crate::plugin) async fn answer(
        &self,
        plugin: &PluginId,
        grants: &[KeyvalueGrant],
        callers: &[Arc<Identity>],
        question: &Value,
    ) -> Option<Value> {
        let operation = question["keyvalue"].as_str()?;
        let bucket = question["bucket"].as_str().filter(|bucket| bucket.len() <= MAX_BUCKET_NAME)?;
        // The host's own calls are nobody's.
        let names = callers.iter().map(|caller| &**caller.name()).chain([""]);
        let mut known = names.map(name::subject);
        let subject = question["subject"].as_str();
        let (quota, total) = (question["quota"].as_u64()?, question["total"].as_u64());
        let granted = |grant: &&KeyvalueGrant| grant.quota == quota && grant.per_subject == total;
        grants.iter().find(granted)?;
        if subject.is_some() != total.is_some() || subject.is_some_and(|own| known.all(|known| known != own)) {
            return None;
        }
        let limits = Limits { quota, total };
        let owner =
            Owner { plugin: plugin.as_ref().into(), subject: subject.map(Arc::from), bucket: bucket.into(), limits };
        let (values, with) = (self.of(owner), &question["with"]);
        Some(match operation {
            "get" => self.said(values.get(Kept::read(with)?).await),
            "exists" => self.said(values.exists(Kept::read(with)?).await),
            "get_many" => self.said(values.get_many(Kept::read(with)?).await),
            "keys" => self.said(values.keys(Kept::read(with)?).await),
            "set_many" => self.said(values.set_many(Kept::read(with)?).await),
            "delete_many" => self.said(values.delete_many(Kept::read(with)?).await),
            "increment" => {
                let (key, delta) = Kept::read(with)?;
                self.said(values.increment(key, delta).await)
            }
            _ => return None,
        })
    }

    /// A failure is for the operator, and is logged here.
    fn said<R: Kept>(&self, done: Result<R, StoreError>) -> Value {
        if let Err(StoreError::Failed(reason) | StoreError::Full(reason)) = &done
            && let Some(left_out) = self.failures().due()
        {
            tracing::error!("the host's store failed: {reason}{left_out}");
        }
        done.keep()
    }
}

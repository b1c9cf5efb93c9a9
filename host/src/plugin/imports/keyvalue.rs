//! `wasi:keyvalue`: a plugin's data between its calls, in one database of the host, or in the store of several nodes.
//!
//! Implements the guest's functions and checks the grant; `place` says where a bucket is: `local` in the database that
//! `store` opens, with the statements of `space`, or `shared`.

pub(super) mod bindings;
mod entries;
mod limits;
mod local;
mod name;
mod place;
mod remote;
mod shared;
mod space;
mod store;
mod taped;
#[cfg(test)]
mod tests;
mod values;

use std::ops::Deref;
use std::sync::Arc;

use wasmtime::component::Resource;

use super::state::GuestState;
use crate::plugin::policy::access::Access;
use crate::traces::OpenSpan;
use bindings::{AtomicCalls, BatchCalls, BucketCalls, Error, KeyResponse, StoreCalls};
pub use entries::KeyvalueFile;
use limits::{Limits, MAX_BUCKET_NAME};
pub(in crate::plugin) use place::Keyvalue;
pub use place::KeyvaluePlace;
pub(in crate::plugin) use remote::AskServer;
use store::StoreError;
use taped::Taped;
use values::{Owner, Values};

/// The bucket that the empty name opens.
const DEFAULT_BUCKET: &str = "default";

/// The bucket of a guest's handle.
#[allow(unreachable_pub, reason = "the bindings pass it on")]
pub struct Bucket {
    name: Arc<str>,
}

/// The values of a bucket while an operation uses them.
struct Operated {
    values: Box<dyn Values>,
    _span: Option<OpenSpan>,
}

impl Deref for Operated {
    type Target = dyn Values;

    fn deref(&self) -> &Self::Target {
        &*self.values
    }
}

impl GuestState {
    /// The values of that bucket, for one operation.
    fn values(&mut self, bucket: &Resource<Bucket>, operation: &'static str) -> Result<Operated, Error> {
        // Only `open` makes handles, so a guest that has one has the grant.
        let Some(grant) = self.granted.grants.keyvalue else { return Err(Error::AccessDenied) };
        let bucket = self.table().get(bucket).map_err(|error| Error::Other(error.to_string()))?.name.clone();
        let who = self.identity.as_ref().map_or("", |who| who.name());
        let subject = grant.per_subject.map(|_| name::subject(who).into());
        let limits = Limits { quota: grant.quota, total: grant.per_subject };
        let name = bucket.to_string();
        let values = self.granted.keyvalue.of(Owner { plugin: self.plugin.as_ref().into(), subject, bucket, limits });
        let values = match self.tape.clone() {
            None => values,
            Some(tape) => Box::new(Taped { tape, bucket: name, real: values }),
        };
        Ok(Operated { values, _span: self.span(operation) })
    }

    /// The outcome for the guest; a failure of the host is for the operator.
    fn told<R>(&mut self, done: Result<R, StoreError>) -> Result<R, Error> {
        done.map_err(|error| match error {
            StoreError::Refused(why) => Error::Other(why),
            StoreError::Failed(reason) | StoreError::Full(reason) => {
                if let Some(left_out) = self.granted.keyvalue.failures().due() {
                    tracing::error!(plugin = %self.plugin, "the host's store failed: {reason}{left_out}");
                }
                Error::Other("the host's store failed".into())
            }
        })
    }
}

impl StoreCalls for GuestState {
    async fn open(&mut self, identifier: String) -> Result<Resource<Bucket>, Error> {
        if self.granted.grants.keyvalue.is_none() {
            self.deny(Access::Keyvalue, || (Access::Keyvalue.line(), Access::Keyvalue.word()));
            return Err(Error::AccessDenied);
        }
        if identifier.len() > MAX_BUCKET_NAME {
            let long = format!("the bucket's name has {} bytes; the limit is {MAX_BUCKET_NAME}", identifier.len());
            return Err(Error::Other(long));
        }
        let name = if identifier.is_empty() { DEFAULT_BUCKET } else { &identifier };
        let bucket = Bucket { name: name.into() };
        self.table().push(bucket).map_err(|_| Error::Other("this call has too many buckets open".into()))
    }
}

impl BucketCalls for GuestState {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Result<Option<Vec<u8>>, Error> {
        let done = self.values(&bucket, "keyvalue get")?.get(key).await;
        self.told(done)
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Result<(), Error> {
        let done = self.values(&bucket, "keyvalue set")?.set_many(vec![(key, value)]).await;
        self.told(done)
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Result<(), Error> {
        let done = self.values(&bucket, "keyvalue delete")?.delete_many(vec![key]).await;
        self.told(done)
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Result<bool, Error> {
        let done = self.values(&bucket, "keyvalue exists")?.exists(key).await;
        self.told(done)
    }

    async fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<u64>) -> Result<KeyResponse, Error> {
        let page = self.values(&bucket, "keyvalue list keys")?.keys(cursor).await;
        let (keys, cursor) = self.told(page)?;
        Ok(KeyResponse { keys, cursor })
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table().delete(bucket)?;
        Ok(())
    }
}

impl AtomicCalls for GuestState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Result<u64, Error> {
        let done = self.values(&bucket, "keyvalue increment")?.increment(key, delta).await;
        self.told(done)
    }
}

impl BatchCalls for GuestState {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Result<Vec<Option<(String, Vec<u8>)>>, Error> {
        let done = self.values(&bucket, "keyvalue get many")?.get_many(keys).await;
        self.told(done)
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<(String, Vec<u8>)>) -> Result<(), Error> {
        let done = self.values(&bucket, "keyvalue set many")?.set_many(entries).await;
        self.told(done)
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Result<(), Error> {
        let done = self.values(&bucket, "keyvalue delete many")?.delete_many(keys).await;
        self.told(done)
    }
}

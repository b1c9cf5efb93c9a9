//! `wasi:keyvalue`: a plugin's data between its calls, in one database of the host.
//!
//! Implements the guest's functions and checks the grant; `store` opens the database, `space` reads
//! and writes a plugin's bucket in it.

pub(super) mod bindings;
mod space;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use wasmtime::component::Resource;

use super::state::GuestState;
use crate::plugin::policy::access::Access;
use bindings::{AtomicCalls, BatchCalls, BucketCalls, Error, KeyResponse, StoreCalls};
use space::Space;
pub(in crate::plugin) use store::{Store, StoreError};

/// Maximum bytes of a bucket's name.
const MAX_BUCKET_NAME: usize = 64;
/// The bucket that the empty name opens.
const DEFAULT_BUCKET: &str = "default";

/// The bucket of a guest's handle.
#[allow(unreachable_pub, reason = "the bindings pass it on")]
pub struct Bucket {
    name: Arc<str>,
}

impl GuestState {
    /// Runs some work on the plugin's data in that bucket.
    async fn in_bucket<R: Send + 'static>(
        &mut self,
        bucket: &Resource<Bucket>,
        work: impl FnOnce(Space<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, Error> {
        // Only `open` makes handles, so a guest that has one has the grant.
        let Some(grant) = self.granted.grants.keyvalue else { return Err(Error::AccessDenied) };
        let bucket = self.table().get(bucket).map_err(|error| Error::Other(error.to_string()))?.name.clone();
        let owner = match grant.per_subject {
            Some(_) => format!("{}/{}", self.plugin, self.identity.as_ref().map_or("", |who| who.name())),
            None => self.plugin.to_string(),
        };
        let store = self.granted.store.clone();
        let done = store
            .run(move |connection| {
                let (quota, total) = (grant.quota, grant.per_subject);
                work(Space { connection, owner: &owner, bucket: &bucket, quota, total })
            })
            .await;
        done.map_err(|error| match error {
            StoreError::Refused(why) => Error::Other(why),
            StoreError::Failed(reason) => {
                // Counted as a message of the guest, so that it cannot flood the log.
                if self.log().admit(reason.len()) {
                    tracing::error!(plugin = %self.plugin, "the host's store failed: {reason}");
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
        self.in_bucket(&bucket, move |space| space.get(&key)).await
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Result<(), Error> {
        self.in_bucket(&bucket, move |mut space| space.set_many(&[(key, value)])).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Result<(), Error> {
        self.in_bucket(&bucket, move |mut space| space.delete_many(&[key])).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Result<bool, Error> {
        self.in_bucket(&bucket, move |space| space.exists(&key)).await
    }

    async fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<u64>) -> Result<KeyResponse, Error> {
        let (keys, cursor) = self.in_bucket(&bucket, move |space| space.keys(cursor)).await?;
        Ok(KeyResponse { keys, cursor })
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table().delete(bucket)?;
        Ok(())
    }
}

impl AtomicCalls for GuestState {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Result<u64, Error> {
        self.in_bucket(&bucket, move |mut space| space.increment(&key, delta)).await
    }
}

impl BatchCalls for GuestState {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Result<Vec<Option<(String, Vec<u8>)>>, Error> {
        self.in_bucket(&bucket, move |space| space.get_many(keys)).await
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<(String, Vec<u8>)>) -> Result<(), Error> {
        self.in_bucket(&bucket, move |mut space| space.set_many(&entries)).await
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Result<(), Error> {
        self.in_bucket(&bucket, move |mut space| space.delete_many(&keys)).await
    }
}

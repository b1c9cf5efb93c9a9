//! An entry that one process alone writes, again and again: a write that arrives late replaces no newer one.
//!
//! A write without an answer may still be on its way, on a connection that was cut or to a server that hung, and arrive
//! after what was written over the next connection.

use tokio::sync::Mutex;

use super::{Durability, Expected, Put, Store, StoreError};

/// Other versions that are met at most: that of a write whose answer was lost, and none, if it was removed meanwhile.
const ATTEMPTS: usize = 4;

/// An entry of this process.
pub struct OwnEntry {
    key: String,
    /// The last one that is known. Held while it is written.
    version: Mutex<Option<u64>>,
}

impl OwnEntry {
    pub fn new(key: String) -> Self {
        Self { key, version: Mutex::default() }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// Replaces what was written before. `expires`: as in [`Put::expires`].
    ///
    /// # Errors
    /// If the store cannot be used, or somebody else writes the entry.
    pub async fn put(&self, store: &dyn Store, value: Vec<u8>, expires: Option<u64>) -> Result<(), StoreError> {
        let mut version = self.version.lock().await;
        for _ in 0..ATTEMPTS {
            let put = Put {
                key: self.key.clone(),
                value: value.clone(),
                expected: version.map_or(Expected::Absent, Expected::Version),
                durability: Durability::Process,
                expires,
            };
            match store.put(put).await? {
                Some(written) => {
                    *version = Some(written);
                    return Ok(());
                }
                None => *version = store.get(&self.key).await?.map(|entry| entry.version),
            }
        }
        Err(StoreError(format!("another process writes {}", self.key)))
    }

    /// Removes it.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn remove(&self, store: &dyn Store) -> Result<(), StoreError> {
        store.delete(&self.key).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::store::{Sqlite, now};

    fn late(value: &[u8], expected: Expected) -> Put {
        Put { key: "own".into(), value: value.into(), expected, durability: Durability::Process, expires: None }
    }

    async fn value(store: &dyn Store) -> Option<Vec<u8>> {
        store.get("own").await.expect("usable").map(|entry| entry.value)
    }

    #[tokio::test]
    async fn a_late_write_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
        let store = &*Sqlite::new(folder.path().join("store.db"));
        let own = OwnEntry::new("own".into());
        own.put(store, b"1".into(), None).await.expect("written");
        let first = store.get("own").await.expect("usable").expect("it is there").version;
        own.put(store, b"2".into(), None).await.expect("written");
        // What was sent before the second arrives after it.
        for expected in [Expected::Absent, Expected::Version(first)] {
            assert_eq!(store.put(late(b"late", expected)).await, Ok(None));
        }
        assert_eq!(value(store).await, Some(b"2".into()));
    }

    #[tokio::test]
    async fn it_is_written_after_a_lost_answer_and_after_it_was_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
        let store = &*Sqlite::new(folder.path().join("store.db"));
        let own = OwnEntry::new("own".into());
        store.put(late(b"its answer was lost", Expected::Absent)).await.expect("usable");
        own.put(store, b"1".into(), Some(1)).await.expect("written");
        assert_eq!(value(store).await, Some(b"1".into()));
        assert_eq!(store.remove_expired(now(), 9).await, Ok(1));
        own.put(store, b"2".into(), None).await.expect("written");
        assert_eq!(value(store).await, Some(b"2".into()));
        own.remove(store).await.expect("usable");
        assert_eq!(value(store).await, None);
    }
}

//! A turn that one process of all has at a time: an entry that it renews, and that ends by itself if the process dies.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::{Durability, Expected, Put, Store, StoreError, now};

/// For how long it is kept for one who has not renewed it, in milliseconds.
const LASTS: u64 = 60_000;
const RENEWAL: Duration = Duration::from_secs(10);

/// The turn, until it is [ended](Self::end), or for a minute after it was dropped.
pub struct Turn {
    store: Arc<dyn Store>,
    key: &'static str,
    renewing: AbortOnDropHandle<()>,
}

impl Turn {
    /// `None`: another process has it.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub async fn take(store: &Arc<dyn Store>, key: &'static str, now: u64) -> Result<Option<Self>, StoreError> {
        let expected = match store.get(key).await? {
            None => Expected::Absent,
            Some(entry) if entry.has_expired(now) => Expected::Version(entry.version),
            Some(_) => return Ok(None),
        };
        let Some(mut version) = store.put(renewal(key, expected)).await? else { return Ok(None) };
        let renewed = store.clone();
        let renewing = AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                sleep(RENEWAL).await;
                // Whoever has it finds an error by what it does meanwhile.
                if let Ok(Some(next)) = renewed.put(renewal(key, Expected::Version(version))).await {
                    version = next;
                }
            }
        }));
        Ok(Some(Self { store: store.clone(), key, renewing }))
    }

    /// Leaves it to others at once, if the store can be used.
    pub async fn end(self) {
        drop(self.renewing);
        let _ = self.store.delete(self.key).await;
    }
}

fn renewal(key: &str, expected: Expected) -> Put {
    let expires = Some(now().saturating_add(LASTS));
    Put { key: key.to_owned(), value: Vec::new(), expected, durability: Durability::Process, expires }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::store::Sqlite;

    #[tokio::test(flavor = "multi_thread")]
    async fn one_has_it_and_one_who_died_does_not_have_it_for_long() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
        let store: Arc<dyn Store> = Sqlite::new(folder.path().join("store.db"));
        let take = async |now| Turn::take(&store, "turn", now).await.expect("usable");
        let one = take(now()).await.expect("free");
        assert!(take(now()).await.is_none());
        one.end().await;
        drop(take(now()).await.expect("free"));
        assert!(take(now()).await.is_none());
        assert!(take(now() + LASTS + 1000).await.is_some());
    }
}

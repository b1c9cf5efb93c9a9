//! Which servers use what is kept, so that it is not moved away under them.
//!
//! On one machine servers share a lock in the state folder, and who moves has it alone. In a store for several nodes each
//! server says that it lives; nodes that have connections to each other say so anyway.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::time::sleep;

use crate::os::lock::{try_lock, try_lock_shared};
use crate::os::private::{self, OpenMode};
use crate::store::lease::{self, RENEWAL};
use crate::store::{OwnEntry, Store, StoreError, now};

/// The file in the state folder.
const FILE: &str = "servers.lock";
/// What the keys of all servers begin with.
pub const PREFIX: &str = "servers/";

/// The lock, until it is dropped or the process ends.
pub struct InUse(#[expect(dead_code, reason = "held")] File);

impl InUse {
    /// For a server. `None`: what is kept is being moved.
    ///
    /// # Errors
    /// If the file cannot be opened or locked.
    pub fn by_server(folder: &Path) -> io::Result<Option<Self>> {
        Self::of(folder, try_lock_shared)
    }

    /// For who moves it. `None`: a server uses it, or somebody else moves it.
    ///
    /// # Errors
    /// As [`Self::by_server`].
    pub fn alone(folder: &Path) -> io::Result<Option<Self>> {
        Self::of(folder, try_lock)
    }

    fn of(folder: &Path, lock: fn(&File) -> io::Result<bool>) -> io::Result<Option<Self>> {
        private::create_folder(folder)?;
        let (file, _) = private::open(&folder.join(FILE), OpenMode::Lock).map_err(io::Error::from)?;
        Ok(lock(&file)?.then_some(Self(file)))
    }
}

/// Says that this server lives, until it is dropped. `id`: of this process.
pub async fn announce(store: Arc<dyn Store>, id: String) -> Infallible {
    let own = OwnEntry::new(format!("{PREFIX}{id}"));
    loop {
        if let Err(error) = own.put(&*store, Vec::new(), Some(lease::expires(now()))).await {
            tracing::debug!(%error, "failed to say that this server lives");
        }
        sleep(RENEWAL).await;
    }
}

/// This server does not live any more.
///
/// # Errors
/// If the store cannot be used.
pub async fn leave(store: &dyn Store, id: &str) -> Result<(), StoreError> {
    store.delete(&format!("{PREFIX}{id}")).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn servers_share_what_who_moves_has_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
        let server = || InUse::by_server(folder.path()).expect("usable");
        let alone = || InUse::alone(folder.path()).expect("usable");
        let (one, two) = (server(), server());
        assert!(one.is_some() && two.is_some() && alone().is_none());
        drop((one, two));
        let moved = alone();
        assert!(moved.is_some() && alone().is_none() && server().is_none());
        drop(moved);
        assert!(server().is_some());
    }
}

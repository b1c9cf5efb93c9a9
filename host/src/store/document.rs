//! One entry of a store, edited as a whole: state that would otherwise be a file of one machine.

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::TryRecvError;
use tokio::time::Instant;

use super::{Changed, Durability, Expected, Put, Store, StoreError};

/// How often an edit is tried again if others made one meanwhile.
const ATTEMPTS: usize = 64;
/// How often it is looked at although nothing was heard of a change: what one hears of is a hint.
const CHECK: Duration = Duration::from_secs(5);

/// An entry. Its methods block the calling thread, as those of files do.
#[derive(Clone)]
pub struct Document {
    store: Arc<dyn Store>,
    key: &'static str,
    /// What it is called for people.
    place: Arc<str>,
    runtime: Handle,
}

/// Whether [`Document::mark`] has added a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    Now,
    /// It was there.
    Before,
    /// There are too many.
    Full,
}

/// Why an entry was not edited.
#[derive(Debug)]
pub enum Unedited<E> {
    /// The store could not be used.
    Store(StoreError),
    /// The edit failed.
    Edit(E),
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Document").field(&self.key).finish()
    }
}

/// The entry, as people are told of it.
impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.key, self.place)
    }
}

impl Document {
    /// The entry of that key. `place`: of the store, for people. The store must not be used in another runtime than that
    /// one, which must have a thread that waits for no document.
    pub fn new(store: Arc<dyn Store>, key: &'static str, place: &str, runtime: Handle) -> Self {
        Self { store, key, place: place.into(), runtime }
    }

    /// `None`: there is none.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let entry = self.wait(self.store.get(self.key))?;
        Ok(entry.map(|entry| entry.value))
    }

    /// Changes it, whoever changes it meanwhile. `edit` gets what is there and returns what is to be there instead,
    /// `None` if that stays; it may run several times. Once this returns, all nodes read it, also after a power failure.
    ///
    /// # Errors
    /// That of `edit`, or if the store cannot be used.
    pub fn edit<R, E>(
        &self,
        mut edit: impl FnMut(Option<&[u8]>) -> Result<(Option<Vec<u8>>, R), E>,
    ) -> Result<R, Unedited<E>> {
        for _ in 0..ATTEMPTS {
            let entry = self.wait(self.store.get(self.key)).map_err(Unedited::Store)?;
            let edited = edit(entry.as_ref().map(|entry| entry.value.as_slice()));
            let (value, result) = edited.map_err(Unedited::Edit)?;
            let Some(value) = value else { return Ok(result) };
            let put = Put {
                key: self.key.to_owned(),
                value,
                expected: entry.map_or(Expected::Absent, |entry| Expected::Version(entry.version)),
                durability: Durability::Power,
                expires: None,
            };
            if self.wait(self.store.put(put)).map_err(Unedited::Store)?.is_some() {
                return Ok(result);
            }
        }
        Err(Unedited::Store(StoreError(format!("others change {} all the time", self.key))))
    }

    /// Adds a mark below this entry, once: an entry of its own without a value. `owner` and `name` are of ASCII without a
    /// slash; `most`: marks of one owner, and of all. It is removed some time after `expires`, in milliseconds since 1970.
    ///
    /// # Errors
    /// If the store cannot be used.
    pub fn mark(&self, (owner, name): (&str, &str), most: (u64, u64), expires: u64) -> Result<Marked, StoreError> {
        self.wait(async {
            let of_all = format!("{}/", self.key);
            let of_owner = format!("{of_all}{owner}/");
            let put = Put {
                key: format!("{of_owner}{name}"),
                value: Vec::new(),
                expected: Expected::Absent,
                durability: Durability::Power,
                expires: Some(expires),
            };
            if self.store.get(&put.key).await?.is_some() {
                return Ok(Marked::Before);
            }
            let (own, all) = (self.store.usage(&of_owner).await?, self.store.usage(&of_all).await?);
            if own.entries >= most.0 || all.entries >= most.1 {
                return Ok(Marked::Full);
            }
            Ok(self.store.put(put).await?.map_or(Marked::Before, |_| Marked::Now))
        })
    }

    /// Sees changes from now on.
    pub fn watch(&self) -> DocumentWatch {
        // Who asks may be in another runtime, or in none.
        let _entered = self.runtime.enter();
        DocumentWatch { key: self.key, changes: self.store.watch(), checked: Instant::now() }
    }

    /// In a thread of its own: this one may belong to a runtime, which must not be entered again.
    fn wait<T: Send>(&self, request: impl Future<Output = Result<T, StoreError>> + Send) -> Result<T, StoreError> {
        let done = thread::scope(|scope| scope.spawn(|| self.runtime.block_on(request)).join());
        done.unwrap_or_else(|_| Err(StoreError("the server is being stopped".into())))
    }
}

/// See [`Document::watch`].
#[derive(Debug)]
pub struct DocumentWatch {
    key: &'static str,
    changes: broadcast::Receiver<Changed>,
    checked: Instant,
}

impl DocumentWatch {
    /// Whether the entry may have changed since the last call; the caller must then read it.
    pub fn take(&mut self) -> bool {
        let mut changed = self.checked.elapsed() >= CHECK;
        loop {
            match self.changes.try_recv() {
                Ok(Changed::Key(key)) => changed |= key == self.key,
                Ok(Changed::All) | Err(TryRecvError::Lagged(_)) => changed = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if changed {
            self.checked = Instant::now();
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::store::Sqlite;

    /// Two nodes, each with a connection of its own.
    fn nodes(name: &str) -> (std::path::PathBuf, [Document; 2]) {
        let folder = std::env::temp_dir().join(format!("wharf-document-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        crate::os::private::create_folder(&folder).expect("a folder");
        let node = || Document::new(Sqlite::new(folder.join("store.db")), "pins", "store.db", Handle::current());
        (folder.clone(), [node(), node()])
    }

    fn add(document: &Document, letter: u8) {
        let add = |before: Option<&[u8]>| {
            let mut value = before.unwrap_or_default().to_vec();
            value.push(letter);
            Ok::<_, Infallible>((Some(value), ()))
        };
        document.edit(add).expect("edited");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn no_edit_of_several_nodes_is_lost() {
        let (folder, nodes) = nodes("edits");
        let edits: Vec<_> = nodes.iter().cloned().enumerate().collect();
        let edits = edits
            .into_iter()
            .map(|(at, node)| tokio::task::spawn_blocking(move || (0..50).for_each(|_| add(&node, b'a' + at as u8))));
        for edit in edits.collect::<Vec<_>>() {
            edit.await.expect("no panic");
        }
        let value = nodes[0].read().expect("a store").expect("an entry");
        let count = |letter| value.iter().filter(|byte| **byte == letter).count();
        assert_eq!((count(b'a'), count(b'b')), (50, 50));
        let _ = std::fs::remove_dir_all(&folder);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_is_seen_once_by_another_node() {
        let (folder, [one, other]) = nodes("watch");
        assert_eq!(other.read(), Ok(None));
        let mut watch = other.watch();
        add(&one, b'x');
        let until = Instant::now() + Duration::from_secs(10);
        while !watch.take() {
            assert!(Instant::now() < until, "not seen");
            tokio::task::yield_now().await;
        }
        assert_eq!(other.read(), Ok(Some(b"x".to_vec())));
        // What leaves it as it is writes nothing.
        let nothing = |_: Option<&[u8]>| Ok::<_, Infallible>((None, 7));
        assert!(matches!(one.edit(nothing), Ok(7)));
        let _ = std::fs::remove_dir_all(&folder);
    }
}

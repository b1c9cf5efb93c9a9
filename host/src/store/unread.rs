//! Which of the entries that others write are to be read. Whoever writes however many of them, few are read at a time,
//! and each has its turn.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use tokio::sync::broadcast::error::RecvError;

use super::{Changed, Entry, Store, StoreError};

/// Entries that are read in a turn.
const READS: usize = 128;
/// Keys that are remembered.
const MOST: usize = 4096;

/// Entries below a prefix.
pub struct Unread {
    prefix: &'static str,
    /// What the keys of this process begin with: it does not read them.
    own: String,
    /// Those that were written.
    keys: BTreeSet<String>,
    /// The last one that was read: they have their turns in the order of their names, so that one that is written all the
    /// time has none of the others'.
    last: String,
    /// After this one, any may have been written.
    after: Option<String>,
    /// So may all, once more.
    again: bool,
    /// What may be read still in this turn.
    left: usize,
    /// In this turn the store could not be used.
    has_failed: bool,
}

impl Unread {
    pub fn new(prefix: &'static str, own: String) -> Self {
        let (keys, last, after, again) = (BTreeSet::new(), String::new(), None, false);
        Self { prefix, own, keys, last, after, again, left: READS, has_failed: false }
    }

    /// Takes what a [watch](Store::watch) has said.
    pub fn heard(&mut self, changed: Result<Changed, RecvError>) {
        match changed {
            Ok(Changed::Key(key)) => self.add(key),
            Ok(Changed::All) | Err(RecvError::Lagged(_)) => self.all(),
            // Its sender is in the store, which is ours.
            Err(RecvError::Closed) => {}
        }
    }

    fn add(&mut self, key: String) {
        if !self.is_of_other(&key) {
            return;
        }
        if self.keys.len() < MOST {
            self.keys.insert(key);
        } else if !self.keys.contains(&key) {
            self.all();
        }
    }

    /// Any key may have been written.
    pub fn all(&mut self) {
        // What is looked through already goes on: otherwise the end might never come.
        self.again |= self.after.is_some();
        self.after.get_or_insert_default();
    }

    fn is_of_other(&self, key: &str) -> bool {
        key.starts_with(self.prefix) && !key.starts_with(&self.own)
    }

    /// To be called at regular times.
    pub fn next_turn(&mut self) {
        (self.left, self.has_failed) = (READS, false);
    }

    /// Whether something is to be read now.
    pub fn is_due(&self) -> bool {
        self.left > 0 && !self.has_failed && !(self.keys.is_empty() && self.after.is_none())
    }

    /// Reads as much as it may in this turn. `take` gets each entry that is there.
    ///
    /// # Errors
    /// If the store cannot be used; what was not read is read in another turn.
    pub async fn read(&mut self, store: &dyn Store, mut take: impl FnMut(Entry)) -> Result<(), StoreError> {
        while self.is_due() {
            let read = match self.next() {
                Some(key) => store.get(&key).await.map(|entry| {
                    entry.into_iter().for_each(&mut take);
                    self.keys.remove(&key);
                    self.last = key;
                }),
                None => self.look(store).await,
            };
            self.left -= 1;
            read.inspect_err(|_| self.has_failed = true)?;
        }
        Ok(())
    }

    fn next(&self) -> Option<String> {
        let mut later = self.keys.range::<str, _>((Excluded(&*self.last), Unbounded));
        later.next().or_else(|| self.keys.first()).cloned()
    }

    /// Adds the next keys that are there.
    async fn look(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let Some(after) = &self.after else { return Ok(()) };
        let page = store.keys(self.prefix, after, READS).await?;
        self.after = page.keys.last().filter(|_| page.more).cloned();
        if self.after.is_none() && std::mem::take(&mut self.again) {
            self.after = Some(String::new());
        }
        page.keys.into_iter().for_each(|key| self.add(key));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::store::{Durability, Expected, Put, Sqlite};

    fn store(folder: &tempfile::TempDir) -> Arc<Sqlite> {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).expect("its owner's");
        Sqlite::new(folder.path().join("store.db"))
    }

    fn key(number: usize) -> String {
        format!("changes/{number:05}")
    }

    fn unread() -> Unread {
        Unread::new("changes/", key(0))
    }

    async fn write(store: &dyn Store, number: usize) {
        let (expected, durability) = (Expected::Anything, Durability::Process);
        let put = Put { key: key(number), value: Vec::new(), expected, durability, expires: None };
        store.put(put).await.expect("written");
    }

    #[tokio::test]
    async fn few_entries_are_read_in_a_turn_and_each_has_its_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(&folder);
        let most = 3 * READS;
        for number in 0..most {
            write(&*store, number).await;
        }
        let (mut unread, mut read, mut turns) = (unread(), HashSet::new(), 0);
        unread.all();
        while unread.is_due() {
            let before = read.len();
            unread.read(&*store, |entry| read.extend([entry.key])).await.expect("usable");
            assert!(read.len() - before <= READS && turns < 9, "{}", read.len());
            unread.next_turn();
            turns += 1;
        }
        // Its own entry is none of them.
        assert!(read.len() == most - 1 && !read.contains(&key(0)) && turns >= 3, "{} {turns}", read.len());
    }

    /// Somebody writes the first ones again and again.
    #[tokio::test]
    async fn what_is_written_all_the_time_has_no_turns_of_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(&folder);
        let busy = 4 * READS;
        write(&*store, busy).await;
        let (mut unread, mut is_read, mut turns) = (unread(), false, 0);
        unread.add(key(busy));
        while !is_read {
            (1..busy).for_each(|number| unread.add(key(number)));
            unread.read(&*store, |entry| is_read |= entry.key == key(busy)).await.expect("usable");
            unread.next_turn();
            turns += 1;
            assert!(turns <= 5, "it is never read");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded_and_nothing_is_forgotten() {
        let mut unread = unread();
        for other in ["tasks/1".to_owned(), key(0)] {
            unread.heard(Ok(Changed::Key(other)));
        }
        assert!(!unread.is_due());
        (1..=MOST).for_each(|number| unread.heard(Ok(Changed::Key(key(number)))));
        assert!(unread.keys.len() == MOST && unread.after.is_none());
        unread.heard(Ok(Changed::Key(key(MOST + 1))));
        assert!(unread.keys.len() == MOST && unread.after.as_deref() == Some("") && !unread.again);
        unread.heard(Err(RecvError::Lagged(1)));
        assert!(unread.again, "what was looked through already may have been written since");
    }

    #[tokio::test]
    async fn what_could_not_be_read_is_read_in_another_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(&folder);
        write(&*store, 1).await;
        let broken = folder.path().join("broken");
        std::fs::create_dir(&broken).expect("a folder");
        let (mut unread, mut read) = (unread(), Vec::new());
        unread.add(key(1));
        assert!(unread.read(&*Sqlite::new(broken), |_| {}).await.is_err());
        assert!(!unread.is_due(), "not in this turn");
        unread.next_turn();
        unread.read(&*store, |entry| read.push(entry.key)).await.expect("usable");
        assert!(read == [key(1)] && !unread.is_due());
    }
}

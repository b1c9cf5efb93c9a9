//! What a node knows of all entries: everything but their values.
//!
//! A stream can be asked for the last message of one subject, and not for subjects in their order, for their sizes, or for
//! those that expire. So each node follows the stream, and answers that by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Bound;

use super::entry::Head;
use crate::store::{Usage, end};

/// An entry, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) sequence: u64,
    /// Of key and value.
    size: u64,
    expires: Option<u64>,
    /// The name of its parts.
    parts: Option<String>,
}

/// A message of the stream, as it is known.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) sequence: u64,
    /// Milliseconds since 1970, by the clock of the server.
    pub(super) written: u64,
    /// Bytes of the message without its headers.
    pub(super) length: u64,
    pub(super) head: Head,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    entries: BTreeMap<String, Known>,
    expiring: BTreeSet<(u64, String)>,
    /// Messages that say that a key is gone, by number: when they were written, and of which key.
    removed: BTreeMap<u64, (u64, String)>,
    /// Their numbers.
    removed_keys: HashMap<String, u64>,
    /// When the last message was written, by the clock of the server. Whoever lives writes every two seconds.
    latest: u64,
}

impl Index {
    /// Takes a message; the name of the parts that nobody names any more.
    pub(super) fn apply(&mut self, seen: Seen) -> Option<String> {
        let Seen { key, sequence, written, length, head } = seen;
        self.latest = self.latest.max(written);
        if self.entries.get(&key).is_some_and(|known| known.sequence >= sequence) {
            return None;
        }
        if let Some(earlier) = self.removed_keys.remove(&key) {
            self.removed.remove(&earlier);
        }
        let before = self.entries.remove(&key);
        if let Some(expires) = before.as_ref().and_then(|known| known.expires) {
            self.expiring.remove(&(expires, key.clone()));
        }
        let parts = head.parts.as_ref().map(|parts| parts.name.clone());
        let unnamed = before.and_then(|known| known.parts).filter(|name| Some(name) != parts.as_ref());
        if head.is_removed {
            self.removed.insert(sequence, (written, key.clone()));
            self.removed_keys.insert(key, sequence);
            return unnamed;
        }
        let length = head.parts.map_or(length, |parts| parts.size as u64);
        if let Some(expires) = head.expires {
            self.expiring.insert((expires, key.clone()));
        }
        let known = Known { sequence, size: key.len() as u64 + length, expires: head.expires, parts };
        self.entries.insert(key, known);
        unnamed
    }

    /// That message of a key is gone, and nothing is in its place.
    pub(super) fn lost(&mut self, key: &str, sequence: u64) {
        if self.entries.get(key).is_some_and(|known| known.sequence == sequence)
            && let Some(known) = self.entries.remove(key)
            && let Some(expires) = known.expires
        {
            self.expiring.remove(&(expires, key.to_owned()));
        }
    }

    /// Keys below a prefix and after one, with the numbers of their messages, at most so many, and no more once they have
    /// so many bytes; and whether there are more.
    pub(super) fn page(&self, prefix: &str, after: &str, limit: usize, bytes: usize) -> (Vec<(String, u64)>, bool) {
        let (mut keys, mut read) = (Vec::new(), 0);
        for (key, known) in self.below(prefix, after) {
            if keys.len() == limit || read >= bytes as u64 {
                return (keys, true);
            }
            read += known.size;
            keys.push((key.clone(), known.sequence));
        }
        (keys, false)
    }

    pub(super) fn usage(&self, prefix: &str) -> Usage {
        self.below(prefix, "").fold(Usage::default(), |Usage { entries, bytes }, (_, known)| Usage {
            entries: entries + 1,
            bytes: bytes + known.size,
        })
    }

    fn below(&self, prefix: &str, after: &str) -> impl Iterator<Item = (&String, &Known)> {
        let to = end(prefix);
        let from = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
        // A range whose end is before its start is a panic.
        let is_empty = after >= &*to;
        let from = if is_empty { Bound::Included(&*to) } else { from };
        self.entries.range::<str, _>((from, Bound::Excluded(&*to)))
    }

    /// Entries that expired before then, and before the last message was written, at most so many.
    pub(super) fn expired(&self, now: u64, limit: usize) -> Vec<(String, Known)> {
        let now = now.min(self.latest);
        let expired = self.expiring.iter().take_while(|(expires, _)| *expires < now).take(limit);
        expired.filter_map(|(_, key)| Some((key.clone(), self.entries.get(key)?.clone()))).collect()
    }

    /// Numbers of messages that say that keys are gone, written before then, at most so many. Not the last message of all:
    /// by its number, who follows the stream knows that it has seen everything.
    pub(super) fn old_removals(&self, before: u64, last: u64, limit: usize) -> Vec<u64> {
        let old = self.removed.iter().filter(|(sequence, (written, _))| *written < before && **sequence < last);
        old.map(|(sequence, _)| *sequence).take(limit).collect()
    }

    /// A message that says that a key is gone is gone itself.
    pub(super) fn forget(&mut self, sequence: u64) {
        if let Some((_, key)) = self.removed.remove(&sequence) {
            self.removed_keys.remove(&key);
        }
    }

    /// The names of all parts.
    pub(super) fn parts(&self) -> HashSet<String> {
        self.entries.values().filter_map(|known| known.parts.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::nats::parts::Parts;

    fn seen(key: &str, sequence: u64, head: Head) -> Seen {
        Seen { key: key.into(), sequence, written: sequence * 10, length: 2, head }
    }

    fn removed() -> Head {
        Head { is_removed: true, ..Head::default() }
    }

    #[test]
    fn the_last_message_of_a_key_counts() {
        let mut index = Index::default();
        for (number, key) in ["a/1", "a/2", "b", "a"].into_iter().enumerate() {
            assert_eq!(index.apply(seen(key, number as u64 + 1, Head::default())), None);
        }
        let page = |prefix, after, limit, bytes| {
            let (keys, more) = index.page(prefix, after, limit, bytes);
            (keys.into_iter().map(|(key, _)| key).collect::<Vec<_>>().join(" "), more)
        };
        assert_eq!(page("a/", "", 9, 99), ("a/1 a/2".into(), false));
        assert_eq!(page("a/", "a/1", 9, 99), ("a/2".into(), false));
        assert_eq!(page("a/", "b", 9, 99), (String::new(), false));
        assert_eq!(page("", "", 2, 99), ("a a/1".into(), true));
        assert_eq!(page("", "", 9, 4), ("a a/1".into(), true));
        assert_eq!(index.usage("a"), Usage { entries: 3, bytes: 13 });
        index.apply(seen("a/1", 5, removed()));
        // Late, or twice.
        index.apply(seen("a/2", 2, removed()));
        assert_eq!(index.usage("a/"), Usage { entries: 1, bytes: 5 });
        assert_eq!((index.old_removals(51, 6, 9), index.old_removals(51, 5, 9)), (vec![5], vec![]));
        assert_eq!(index.old_removals(50, 6, 9), Vec::<u64>::new());
        // It is there again.
        index.apply(seen("a/1", 6, Head::default()));
        assert_eq!((index.old_removals(99, 7, 9), index.usage("a/").entries), (vec![], 2));
        index.apply(seen("b", 7, removed()));
        index.forget(7);
        assert_eq!(index.old_removals(99, 9, 9), Vec::<u64>::new());
    }

    #[test]
    fn expiry_and_parts_are_those_of_the_last_message() {
        let mut index = Index::default();
        let expires = |expires| Head { expires: Some(expires), ..Head::default() };
        index.apply(seen("a", 1, expires(10)));
        index.apply(seen("b", 2, expires(5)));
        index.apply(seen("a", 3, expires(20)));
        let names = |found: Vec<(String, Known)>| found.into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        assert_eq!(names(index.expired(5, 9)), Vec::<String>::new());
        assert_eq!(names(index.expired(15, 9)), ["b"]);
        assert_eq!(names(index.expired(21, 9)), ["b", "a"]);
        assert_eq!(names(index.expired(21, 1)), ["b"]);
        index.apply(seen("c", 4, expires(50)));
        assert_eq!(names(index.expired(99, 9)), ["b", "a"], "by the clock of the server it has not expired");
        index.lost("c", 4);
        // What is gone without a message that says so; but not what has been written since.
        index.lost("a", 1);
        index.lost("b", 2);
        assert_eq!(names(index.expired(21, 9)), ["a"]);
        let parts =
            |name: &str| Head { parts: Some(Parts { name: name.into(), count: 1, size: 7 }), ..Head::default() };
        assert_eq!(index.apply(seen("a", 5, parts("1-a"))), None);
        assert_eq!(index.usage("a").bytes, 8);
        assert_eq!(index.apply(seen("a", 6, parts("2-b"))).as_deref(), Some("1-a"));
        assert_eq!(index.parts(), HashSet::from(["2-b".to_owned()]));
        assert_eq!(index.apply(seen("a", 7, removed())).as_deref(), Some("2-b"));
        assert!(index.expired(99, 9).is_empty() && index.parts().is_empty());
    }
}

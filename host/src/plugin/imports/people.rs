//! Grants of a plugin as one caller has them, which are kept for a moment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Mutex as AsyncMutex;

use super::granted::Granted;
use crate::sync::lock;

/// How long they are used until they are looked at again.
pub(super) const FRESH: Duration = Duration::from_secs(2);
/// Maximum callers that are kept, each once for each plugin. Each may have what finds their secrets in texts, and
/// folders that are open.
const MOST: usize = 128;

/// A plugin under certain settings, and the name of a caller's identity.
type Key = (u64, Arc<str>);

/// Callers of all plugins.
#[derive(Default)]
pub(in crate::plugin) struct People(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    people: HashMap<Key, (Person, u64)>,
    /// Counts uses: the highest is the latest.
    uses: u64,
    plugins: u64,
}

/// The grants of one caller, and when they were looked at; locked meanwhile, so that calls at the same time wait for one
/// look. `None`: not yet.
pub(super) type Person = Arc<AsyncMutex<Option<(Arc<Granted>, Instant)>>>;

impl People {
    /// The number of a plugin under certain settings.
    pub(super) fn number(&self) -> u64 {
        let mut kept = lock(&self.0);
        kept.plugins += 1;
        kept.plugins
    }

    /// A caller of a plugin. The one who called least recently makes place.
    pub(super) fn person(&self, plugin: u64, name: &Arc<str>) -> Person {
        let mut kept = lock(&self.0);
        kept.uses += 1;
        let (now, key) = (kept.uses, (plugin, name.clone()));
        if let Some((person, used)) = kept.people.get_mut(&key) {
            *used = now;
            return person.clone();
        }
        let mut removed = None;
        if kept.people.len() >= MOST
            && let Some(oldest) = kept.people.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone())
        {
            removed = kept.people.remove(&oldest);
        }
        let person = Person::default();
        kept.people.insert(key, (person.clone(), now));
        // Outside of the lock: what it has takes long to drop.
        drop(kept);
        drop(removed);
        person
    }

    /// Forgets all callers of a plugin.
    pub(super) fn forget(&self, plugin: u64) {
        let removed: Vec<_> = lock(&self.0).people.extract_if(|(number, _), _| *number == plugin).collect();
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_bounded_and_the_latest_are_kept() {
        let people = People::default();
        let [one, other] = [people.number(), people.number()];
        let name = |number: usize| -> Arc<str> { number.to_string().into() };
        let first = people.person(one, &name(0));
        let second = people.person(one, &name(1));
        (2..MOST).for_each(|number| drop(people.person(other, &name(number))));
        assert!(Arc::ptr_eq(&first, &people.person(one, &name(0))));
        people.person(other, &name(MOST));
        assert_eq!(lock(&people.0).people.len(), MOST);
        assert!(Arc::ptr_eq(&first, &people.person(one, &name(0))), "used since");
        assert!(!Arc::ptr_eq(&second, &people.person(one, &name(1))), "the one that was used least recently");
        assert!(!Arc::ptr_eq(&first, &people.person(other, &name(0))), "of another plugin");
        people.forget(other);
        assert_eq!(lock(&people.0).people.len(), 2);
    }
}

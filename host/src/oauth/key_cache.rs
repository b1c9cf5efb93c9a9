//! When the keys of an issuer are fetched, and how long they are used.
//!
//! Plain state: it fetches nothing, and is told what time it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::keys::KeySet;

/// How long keys are used, whatever the issuer says, and if it says nothing.
const SHORTEST: Duration = Duration::from_mins(5);
const LONGEST: Duration = Duration::from_hours(24);
const UNSAID: Duration = Duration::from_mins(15);
/// The least time between an attempt and one because of a key that is not known: everybody can name keys.
pub(super) const BETWEEN: Duration = Duration::from_secs(30);
/// Before attempts after failures: doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// Why keys are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// It is time, or there are none.
    Due,
    /// A token names a key that is not among them.
    UnknownKey,
}

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct KeyCache {
    keys: Option<Kept>,
    /// When the last attempt began.
    attempted: Option<Instant>,
    /// When the next one is due; at once if there was none.
    due: Option<Instant>,
    failures: u32,
    /// Why the last attempt failed.
    error: Option<String>,
    /// How long keys are used after they should have been replaced.
    keep: Duration,
}

#[derive(Debug)]
struct Kept {
    set: Arc<KeySet>,
    fetched: Instant,
    fresh_until: Instant,
}

impl KeyCache {
    pub(super) fn new(keep: Duration) -> Self {
        Self { keys: None, attempted: None, due: None, failures: 0, error: None, keep }
    }

    /// The keys, unless they are too old.
    pub(super) fn usable(&self, now: Instant) -> Option<&Arc<KeySet>> {
        let kept = self.keys.as_ref()?;
        // A time beyond the clock's range is never reached.
        let until = kept.fresh_until.checked_add(self.keep);
        until.is_none_or(|until| now < until).then_some(&kept.set)
    }

    /// Whether an attempt may begin.
    pub(super) fn may_fetch(&self, cause: Cause, now: Instant) -> bool {
        match cause {
            Cause::Due => self.due.is_none_or(|due| due <= now),
            Cause::UnknownKey => self.attempted.is_none_or(|last| last + BETWEEN <= now),
        }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        self.attempted = Some(now);
        // Set by its end, unless that is a panic.
        self.due = Some(now + LAST_PAUSE);
    }

    /// Keys were fetched, which may be used that long if the issuer said so.
    pub(super) fn store(&mut self, mut set: KeySet, max_age: Option<Duration>, now: Instant) {
        if let Some(kept) = &self.keys {
            set.keep_from(&kept.set);
        }
        let lifetime = max_age.unwrap_or(UNSAID).clamp(SHORTEST, LONGEST);
        self.keys = Some(Kept { set: Arc::new(set), fetched: now, fresh_until: now + lifetime });
        // Before it ends, so that no request has to wait.
        self.due = Some(now + lifetime * 3 / 4);
        (self.failures, self.error) = (0, None);
    }

    /// The attempt failed.
    pub(super) fn fail(&mut self, why: String, now: Instant) {
        let pause = FIRST_PAUSE * 2u32.saturating_pow(self.failures.min(10));
        self.due = Some(now + pause.min(LAST_PAUSE));
        self.failures = self.failures.saturating_add(1);
        self.error = Some(why);
        if self.usable(now).is_none() {
            // Whatever was verified with them is not used any more either.
            self.keys = None;
        }
    }

    /// When the next attempt is due.
    pub(super) fn due(&self, now: Instant) -> Instant {
        self.due.unwrap_or(now)
    }

    /// Why the last attempt failed; `None` if it did not.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// As if everything had happened earlier.
    #[cfg(test)]
    pub(super) fn age_by(&mut self, time: Duration) {
        let times = [&mut self.attempted, &mut self.due].into_iter().flatten();
        let kept = self.keys.iter_mut().flat_map(|kept| [&mut kept.fetched, &mut kept.fresh_until]);
        for at in times.chain(kept) {
            *at = at.checked_sub(time).expect("a time that the clock has");
        }
    }

    /// How old the keys are.
    pub(super) fn age(&self, now: Instant) -> Option<Duration> {
        Some(now.saturating_duration_since(self.keys.as_ref()?.fetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oauth::tests::crafted;

    fn set(name: &str) -> KeySet {
        KeySet::parse(crafted::set(&[&crafted::Signer::ed25519(name)]).as_bytes()).expect("a set")
    }

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn lifetimes_are_bounded() {
        for (said, used) in [
            (Some(0), 300),
            (Some(299), 300),
            (Some(301), 301),
            (Some(86_401), 86_400),
            (Some(u64::MAX), 86_400),
            (None, 900),
        ] {
            let (mut cache, now) = (KeyCache::new(Duration::ZERO), Instant::now());
            cache.store(set("a"), said.map(Duration::from_secs), now);
            let used = Duration::from_secs(used);
            assert_eq!(cache.due(now), now + used * 3 / 4, "{said:?}");
            assert!(cache.usable(now + used - Duration::from_millis(1)).is_some(), "{said:?}");
            assert!(cache.usable(now + used).is_none(), "{said:?}");
        }
    }

    #[test]
    fn failures_keep_the_last_keys_for_a_while() {
        let (mut cache, now) = (KeyCache::new(DAY), Instant::now());
        assert!(cache.usable(now).is_none());
        cache.store(set("a"), Some(DAY), now);
        let last = now + 2 * DAY;
        cache.fail("no".to_owned(), last - Duration::from_secs(1));
        assert!(cache.usable(last - Duration::from_millis(1)).is_some());
        assert_eq!(cache.error(), Some("no"));
        assert!(cache.usable(last).is_none());
        let key = Arc::downgrade(cache.usable(now).expect("not yet dropped"));
        cache.fail("no".to_owned(), last);
        assert!(key.upgrade().is_none(), "dropped");
        cache.store(set("a"), None, last);
        assert_eq!((cache.error(), cache.age(last)), (None, Some(Duration::ZERO)));
        let mut forever = KeyCache::new(Duration::MAX);
        forever.store(set("a"), None, now);
        assert!(forever.usable(now + 9999 * DAY).is_some());
    }

    #[test]
    fn attempts_after_failures_come_at_growing_intervals() {
        let (mut cache, mut now) = (KeyCache::new(DAY), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..40 {
            assert!(cache.may_fetch(Cause::Due, now));
            cache.begin(now);
            cache.fail(String::new(), now);
            let due = cache.due(now);
            assert!(!cache.may_fetch(Cause::Due, due - Duration::from_millis(1)));
            pauses.push((due - now).as_secs());
            now = due;
        }
        assert_eq!(pauses[..7], [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pauses[39], 30);
    }

    #[test]
    fn unknown_keys_cause_one_attempt_in_thirty_seconds() {
        let (mut cache, now) = (KeyCache::new(DAY), Instant::now());
        cache.begin(now);
        cache.store(set("a"), None, now);
        assert!(!cache.may_fetch(Cause::UnknownKey, now + BETWEEN - Duration::from_millis(1)));
        assert!(!cache.may_fetch(Cause::Due, now + BETWEEN));
        assert!(cache.may_fetch(Cause::UnknownKey, now + BETWEEN));
    }

    #[test]
    fn a_key_stays_the_same_when_it_is_fetched_again() {
        let signers = [crafted::Signer::ed25519("a"), crafted::Signer::ed25519("b")];
        let set = |signers: &[&crafted::Signer]| KeySet::parse(crafted::set(signers).as_bytes()).expect("a set");
        let [a, b] = &signers;
        let (mut cache, now) = (KeyCache::new(DAY), Instant::now());
        cache.store(set(&[a, b]), None, now);
        let key = |cache: &KeyCache, name| cache.usable(now).expect("keys").named(name).map(|key| Arc::downgrade(&key));
        let (first, second) = (key(&cache, "a").expect("a key"), key(&cache, "b").expect("a key"));
        cache.store(set(&[b]), None, now);
        assert!(first.upgrade().is_none() && second.upgrade().is_some());
    }
}

//! Identities of tokens that were verified, until they expire: most requests come with a token that came before.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::keys::Key;
use crate::identity::{AccessGrant, Identity, TokenHash};

/// Tokens that are remembered, in all and of one subject.
const MOST: usize = 16_384;
const MOST_OF_SUBJECT: usize = 64;
/// Bytes of all of them, as estimated.
const MOST_BYTES: usize = 64 << 20;
/// What a byte of claims takes as a tree, and what a token takes beside its claims.
const TREE: usize = 6;
const ENTRY: usize = 512;

/// What a token was verified to be.
#[derive(Debug)]
pub struct Verified {
    pub identity: Arc<Identity>,
    /// When the token expires, the leeway included.
    pub expires: Instant,
}

/// Lists of scopes and of groups, and clients, that are looked through for an equal one.
const RECENT: usize = 16;

/// Tokens that were verified.
#[derive(Default)]
pub(super) struct VerifiedTokens {
    /// What recent tokens have, for others that have the same.
    lists: VecDeque<Arc<[Box<str>]>>,
    clients: VecDeque<Arc<str>>,
    entries: HashMap<TokenHash, Entry>,
    /// In the order in which they were verified.
    order: BTreeMap<u64, TokenHash>,
    /// Those of each subject, by the name of its identity, in that order.
    of_subject: HashMap<Arc<str>, VecDeque<u64>>,
    next: u64,
    bytes: usize,
}

struct Entry {
    verified: Arc<Verified>,
    /// The signature is good as long as the issuer has its key.
    key: Option<Weak<Key>>,
    /// Until when it is remembered: the response to an introspection for a shorter time than the token holds.
    until: Instant,
    number: u64,
    bytes: usize,
}

impl VerifiedTokens {
    pub(super) fn get(&mut self, hash: &TokenHash, now: Instant) -> Option<Arc<Verified>> {
        let entry = self.entries.get(hash)?;
        let is_known = entry.key.as_ref().is_none_or(|key| key.strong_count() > 0);
        if is_known && now < entry.until {
            return Some(Arc::clone(&entry.verified));
        }
        self.remove(hash);
        None
    }

    /// Puts what recent tokens have into a grant that has the same. Most users have the scopes and clients of others: kept
    /// once, they are in the processor's cache for all.
    pub(super) fn share_parts(&mut self, grant: &mut AccessGrant) {
        share(&mut self.lists, &mut grant.scopes);
        share(&mut self.lists, &mut grant.groups);
        if let Some(client) = &mut grant.client {
            share(&mut self.clients, client);
        }
    }

    /// Remembers a token whose claims have that many bytes as text.
    pub(super) fn put(
        &mut self,
        hash: TokenHash,
        verified: &Arc<Verified>,
        key: Option<&Arc<Key>>,
        until: Instant,
        (length, now): (usize, Instant),
    ) {
        self.remove(&hash);
        let name = Arc::clone(verified.identity.name());
        if let Some(oldest) =
            self.of_subject.get(&name).filter(|own| own.len() >= MOST_OF_SUBJECT).and_then(|own| own.front())
            && let Some(hash) = self.order.get(oldest).copied()
        {
            self.remove(&hash);
        }
        let bytes = ENTRY + TREE * length;
        while let Some((_, oldest)) = self.order.first_key_value() {
            let has_expired = self.entries.get(oldest).is_none_or(|entry| entry.until <= now);
            if !has_expired && self.entries.len() < MOST && self.bytes + bytes <= MOST_BYTES {
                break;
            }
            let oldest = *oldest;
            self.remove(&oldest);
        }
        let number = self.next;
        self.next += 1;
        self.bytes += bytes;
        self.order.insert(number, hash);
        self.of_subject.entry(name).or_default().push_back(number);
        let (verified, key) = (Arc::clone(verified), key.map(Arc::downgrade));
        self.entries.insert(hash, Entry { verified, key, until, number, bytes });
    }

    fn remove(&mut self, hash: &TokenHash) {
        let Some(entry) = self.entries.remove(hash) else { return };
        self.order.remove(&entry.number);
        self.bytes -= entry.bytes;
        let name = entry.verified.identity.name();
        if let Some(own) = self.of_subject.get_mut(name) {
            own.retain(|number| *number != entry.number);
            if own.is_empty() {
                self.of_subject.remove(name);
            }
        }
    }
}

/// Puts an equal value in place of one, or makes place for it.
fn share<T: ?Sized + PartialEq>(recent: &mut VecDeque<Arc<T>>, value: &mut Arc<T>) {
    match recent.iter().find(|known| *known == value) {
        Some(known) => *value = Arc::clone(known),
        None => {
            recent.truncate(RECENT - 1);
            recent.push_front(Arc::clone(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    struct Tokens(VerifiedTokens, Instant);

    impl Tokens {
        fn new() -> Self {
            Self(VerifiedTokens::default(), Instant::now())
        }

        fn put(&mut self, subject: &str, token: usize, length: usize) -> TokenHash {
            let hash = TokenHash::of(format!("{subject} {token}").as_bytes());
            let expires = self.1 + MINUTE;
            let verified = Arc::new(Verified { identity: Arc::new(Identity::token(subject)), expires });
            self.0.put(hash, &verified, None, expires, (length, self.1));
            hash
        }

        fn has(&mut self, hash: &TokenHash) -> bool {
            self.0.get(hash, self.1).is_some()
        }
    }

    #[test]
    fn a_token_is_forgotten_when_it_expires() {
        let mut tokens = Tokens::new();
        let hash = tokens.put("a", 1, 100);
        assert!(tokens.0.get(&hash, tokens.1 + MINUTE - Duration::from_millis(1)).is_some());
        assert!(tokens.0.get(&hash, tokens.1 + MINUTE).is_none());
        let all = &tokens.0;
        assert_eq!((all.entries.len(), all.order.len(), all.of_subject.len(), all.bytes), (0, 0, 0, 0));
        // Also if nobody asks.
        tokens.put("a", 1, 100);
        tokens.1 += MINUTE;
        tokens.put("b", 1, 100);
        assert_eq!(tokens.0.entries.len(), 1);
    }

    #[test]
    fn equal_parts_are_kept_once() {
        let mut tokens = VerifiedTokens::default();
        let mut grant = |scope: &str, client: &str| {
            let own = AccessGrant::of("i", "s");
            let mut own = AccessGrant { scopes: [scope.into()].into(), client: Some(client.into()), ..own };
            tokens.share_parts(&mut own);
            own
        };
        let first = grant("a", "x");
        let (other, same) = (grant("b", "x"), grant("a", "y"));
        assert!(Arc::ptr_eq(&first.scopes, &same.scopes) && !Arc::ptr_eq(&first.scopes, &other.scopes));
        assert_eq!((&*other.scopes[0], other.client.as_deref(), same.client.as_deref()), ("b", Some("x"), Some("y")));
        (0..RECENT).for_each(|number| drop(grant(&number.to_string(), &number.to_string())));
        assert!(!Arc::ptr_eq(&first.scopes, &grant("a", "x").scopes), "bounded");
    }

    #[test]
    fn one_subject_evicts_only_its_own_tokens() {
        let mut tokens = Tokens::new();
        let other = tokens.put("b", 0, 100);
        let own: Vec<TokenHash> = (0..MOST_OF_SUBJECT + 1).map(|token| tokens.put("a", token, 100)).collect();
        assert!(tokens.has(&other) && !tokens.has(&own[0]) && tokens.has(&own[1]));
        assert_eq!(tokens.0.entries.len(), MOST_OF_SUBJECT + 1);
        // The same token again takes no place.
        tokens.put("a", 1, 100);
        assert!(tokens.has(&own[2]));
    }

    #[test]
    fn all_tokens_are_bounded_by_number_and_bytes() {
        let mut tokens = Tokens::new();
        let first = tokens.put("0", 0, 100);
        let second = tokens.put("1", 0, 100);
        for subject in 2..=MOST {
            tokens.put(&subject.to_string(), 0, 100);
        }
        assert!(!tokens.has(&first) && tokens.has(&second));
        assert_eq!(tokens.0.entries.len(), MOST);
        let mut tokens = Tokens::new();
        for subject in 0..2000 {
            tokens.put(&subject.to_string(), 0, 16 << 10);
            assert!(tokens.0.bytes <= MOST_BYTES);
        }
        assert_eq!(tokens.0.entries.len(), MOST_BYTES / (ENTRY + TREE * (16 << 10)));
    }
}

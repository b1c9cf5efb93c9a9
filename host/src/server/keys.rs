//! The keys of what clients keep for the server: sealed states and signed cursors. The first one is used; what was made
//! with another one is accepted too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::seal::{Binding, Seal, SealError};
use crate::protocol::cursor::{Cursor, ListKind};
use crate::protocol::{ErrorObject, error};

pub struct Keys {
    /// Of the server as it started: what it handed out before it knew others stays good.
    own: Arc<Derived>,
    current: ArcSwap<Vec<Arc<Derived>>>,
    /// How often they were replaced.
    generation: AtomicU64,
}

/// What is derived from one secret.
struct Derived {
    seal: Seal,
    cursor: [u8; 32],
}

impl Derived {
    fn new(key: &[u8; 32]) -> Arc<Self> {
        let derive = |purpose| blake3::derive_key(purpose, key);
        let seal = Seal::new(&derive("wharf seal v1"));
        Arc::new(Self { seal, cursor: derive("wharf cursor v1") })
    }
}

impl Keys {
    pub fn new(key: &[u8; 32]) -> Self {
        let own = Derived::new(key);
        let current = ArcSwap::from_pointee(vec![own.clone()]);
        Self { own, current, generation: AtomicU64::new(0) }
    }

    /// Uses the first of these from now on, and accepts what was made with any of them.
    pub fn replace(&self, keys: &[[u8; 32]]) {
        let keys = keys.iter().map(Derived::new).chain([self.own.clone()]);
        self.current.store(Arc::new(keys.collect()));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Changes when they are replaced.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// As [`Seal::close`].
    ///
    /// # Errors
    /// As [`Seal::close`].
    pub(super) fn close<T: Serialize>(
        &self,
        binding: &Binding<'_>,
        content: T,
        now: SystemTime,
    ) -> Result<String, getrandom::Error> {
        let current = self.current.load();
        current.first().unwrap_or(&self.own).seal.close(binding, content, now)
    }

    /// As [`Seal::open`], with the key that sealed it.
    ///
    /// # Errors
    /// As [`Seal::open`].
    pub(super) fn open<T: DeserializeOwned>(
        &self,
        binding: &Binding<'_>,
        text: &str,
        now: SystemTime,
    ) -> Result<T, SealError> {
        let current = self.current.load();
        let sealed = current.iter().find(|derived| derived.seal.made(text));
        sealed.ok_or(SealError::Invalid)?.seal.open(binding, text, now)
    }

    /// A short text that only a server with the same keys reads, such as the id of a session.
    ///
    /// # Errors
    /// As [`Seal::close`].
    pub fn wrap(&self, bytes: &[u8]) -> Result<String, getrandom::Error> {
        let current = self.current.load();
        current.first().unwrap_or(&self.own).seal.wrap(bytes)
    }

    /// What [`Self::wrap`] made a text of.
    pub fn unwrap(&self, text: &str) -> Option<Vec<u8>> {
        let current = self.current.load();
        current.iter().find(|derived| derived.seal.made(text))?.seal.unwrap(text)
    }

    pub(super) fn sign(&self, cursor: Cursor) -> String {
        let current = self.current.load();
        cursor.encode(&current.first().unwrap_or(&self.own).cursor)
    }

    /// As [`Cursor::decode`], with each key.
    ///
    /// # Errors
    /// As [`Cursor::decode`].
    pub(super) fn offset(&self, text: &str, kind: ListKind, list: u64) -> Result<u64, ErrorObject> {
        let current = self.current.load();
        let mut read = current.iter().map(|derived| Cursor::decode(text, &derived.cursor, kind, list));
        read.find(Result::is_ok).unwrap_or_else(|| Err(error::invalid_cursor()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{Digest, PluginId};
    use crate::server::questions::Sealed;

    #[test]
    fn what_was_made_before_keys_were_replaced_stays_good_while_they_are_kept() {
        let (plugin, digest) = (PluginId::parse("p").expect("an id"), Digest::of(b""));
        let binding = Binding {
            principal: "local",
            plugin: &plugin,
            digest: &digest,
            method: "tools/call",
            name: "t",
            arguments: "{}",
            extras: Vec::new(),
        };
        let (keys, other, now) = (Keys::new(&[1; 32]), Keys::new(&[2; 32]), SystemTime::now());
        let made = |keys: &Keys| {
            let cursor = Cursor { kind: ListKind::Tools, list: 7, offset: 3 };
            (keys.close(&binding, Sealed::default(), now).expect("randomness"), keys.sign(cursor))
        };
        let session = keys.wrap(b"a node").expect("randomness");
        assert_eq!(keys.unwrap(&session).as_deref(), Some(&b"a node"[..]));
        assert_eq!((other.unwrap(&session), keys.unwrap(&session[1..]), keys.unwrap("")), (None, None, None));
        let good = |keys: &Keys, (state, cursor): &(String, String)| {
            let state = keys.open::<Sealed>(&binding, state, now).is_ok();
            let cursor = keys.offset(cursor, ListKind::Tools, 7).is_ok_and(|offset| offset == 3);
            assert_eq!(state, cursor);
            state
        };
        let own = made(&keys);
        assert!(good(&keys, &own) && !good(&other, &own));
        keys.replace(&[[3; 32], [4; 32]]);
        other.replace(&[[4; 32], [3; 32]]);
        let shared = made(&keys);
        assert!(good(&keys, &own) && good(&keys, &shared) && good(&other, &shared) && !good(&other, &own));
        keys.replace(&[[5; 32], [4; 32]]);
        assert!(good(&keys, &own) && !good(&keys, &shared) && good(&keys, &made(&other)));
        assert_eq!(keys.generation(), 2);
    }
}

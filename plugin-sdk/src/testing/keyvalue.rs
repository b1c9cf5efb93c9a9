//! The host's store, in memory and per thread, so that each test has its own.
//!
//! It implements the calls that `Store` uses, without limits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use crate::abi::keyvalue::store::{Error, KeyResponse};

thread_local! {
    static ENTRIES: RefCell<BTreeMap<(String, String), Vec<u8>>> = const { RefCell::new(BTreeMap::new()) };
    static DENIED: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn deny() {
    DENIED.set(true);
}

pub(crate) mod store {
    use super::*;

    pub(crate) fn open(name: &str) -> Result<Bucket, Error> {
        if DENIED.get() { Err(Error::AccessDenied) } else { Ok(Bucket(name.into())) }
    }

    pub(crate) struct Bucket(pub(super) String);

    impl Bucket {
        fn place(&self, key: &str) -> (String, String) {
            (self.0.clone(), key.into())
        }

        pub(crate) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
            Ok(ENTRIES.with_borrow(|entries| entries.get(&self.place(key)).cloned()))
        }

        pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), Error> {
            ENTRIES.with_borrow_mut(|entries| entries.insert(self.place(key), value.into()));
            Ok(())
        }

        pub(crate) fn delete(&self, key: &str) -> Result<(), Error> {
            ENTRIES.with_borrow_mut(|entries| entries.remove(&self.place(key)));
            Ok(())
        }

        pub(crate) fn exists(&self, key: &str) -> Result<bool, Error> {
            Ok(self.get(key)?.is_some())
        }

        /// Two keys per page, so that tests cover paging.
        pub(crate) fn list_keys(&self, cursor: Option<u64>) -> Result<KeyResponse, Error> {
            let from = cursor.unwrap_or(0) as usize;
            ENTRIES.with_borrow(|entries| {
                let keys = entries.keys().filter(|(bucket, _)| *bucket == self.0).map(|(_, key)| key);
                let mut keys: Vec<String> = keys.skip(from).take(3).cloned().collect();
                let more = keys.len() > 2;
                keys.truncate(2);
                Ok(KeyResponse { keys, cursor: more.then_some(from as u64 + 2) })
            })
        }
    }
}

pub(crate) mod atomics {
    use super::*;

    pub(crate) fn increment(bucket: &store::Bucket, key: &str, delta: u64) -> Result<u64, Error> {
        let number = match bucket.get(key)? {
            None => Some(0),
            Some(text) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()),
        };
        let sum = number.and_then(|number: u64| number.checked_add(delta));
        let sum = sum.ok_or_else(|| Error::Other("the value to increment is no whole number".into()))?;
        bucket.set(key, sum.to_string().as_bytes())?;
        Ok(sum)
    }
}

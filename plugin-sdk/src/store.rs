//! Values stored between calls, if the plugin was granted `keyvalue`.
//!
//! ```
//! use wharf_plugin::*;
//!
//! fn visit(_: &Call, _: NoArguments) -> Result<String> {
//!     let visits = Store::open()?.increment("visits", 1)?;
//!     Ok(format!("visit number {visits}"))
//! }
//! # struct Counter;
//! # impl Plugin for Counter {
//! #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("visit", "Counts", visit); }
//! # }
//! assert_eq!(testing::call(&Counter, "visit", json!({})).unwrap().as_text(), "visit number 1");
//! assert_eq!(testing::call(&Counter, "visit", json!({})).unwrap().as_text(), "visit number 2");
//! ```

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::abi::keyvalue::store as raw;
use crate::{Error, Result};

#[cfg(target_family = "wasm")]
use crate::abi::keyvalue as sys;
#[cfg(not(target_family = "wasm"))]
use crate::testing::keyvalue as sys;

/// A bucket of the plugin: keys, and a value for each. Other plugins cannot access it.
///
/// Calls run concurrently. Each `set` or `increment` is atomic, but a value may have changed
/// between reading it and writing it back; so use a separate key for each item, not one list
/// of all.
///
/// ```
/// use wharf_plugin::Store;
///
/// # fn main() -> wharf_plugin::Result<()> {
/// let store = Store::open()?;
/// store.set("colour", &"green")?;
/// assert_eq!(store.get::<String>("colour")?.as_deref(), Some("green"));
/// # Ok(()) }
/// ```
pub struct Store(sys::store::Bucket);

impl Store {
    /// The plugin's default bucket.
    ///
    /// ```
    /// assert!(wharf_plugin::Store::open().is_ok());
    /// ```
    ///
    /// # Errors
    /// If the plugin was not granted `keyvalue`.
    pub fn open() -> Result<Self> {
        Self::bucket("default")
    }

    /// Another bucket, created by its first value; a name has at most 64 bytes.
    ///
    /// ```
    /// # use wharf_plugin::Store;
    /// # fn main() -> wharf_plugin::Result<()> {
    /// Store::bucket("cache")?.set("page", &1)?;
    /// assert!(!Store::open()?.exists("page")?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Store::open`], or if the name is too long.
    pub fn bucket(name: &str) -> Result<Self> {
        Ok(Self(sys::store::open(name).map_err(to_error)?))
    }

    /// The value of a key, deserialised from JSON; `None` if there is none.
    ///
    /// ```
    /// # use wharf_plugin::Store;
    /// # fn main() -> wharf_plugin::Result<()> {
    /// assert_eq!(Store::open()?.get::<u32>("nothing")?, None);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If it cannot be deserialised to `T`, or the host's store failed.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        match self.get_bytes(key)? {
            Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            None => Ok(None),
        }
    }

    /// Stores a value as JSON, replacing the previous one.
    ///
    /// ```
    /// # use wharf_plugin::{Store, json};
    /// # fn main() -> wharf_plugin::Result<()> {
    /// Store::open()?.set("place", &json!({ "row": 3, "seat": 4 }))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If it exceeds a limit, which the error names, or the host's store failed.
    pub fn set(&self, key: &str, value: &impl Serialize) -> Result<()> {
        self.set_bytes(key, &serde_json::to_vec(value)?)
    }

    /// As [`Store::get`], without deserialising.
    ///
    /// ```
    /// # use wharf_plugin::Store;
    /// # fn main() -> wharf_plugin::Result<()> {
    /// # let store = Store::open()?;
    /// store.set_bytes("photo", &[0xff, 0xd8])?;
    /// assert_eq!(store.get_bytes("photo")?, Some(vec![0xff, 0xd8]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the host's store failed.
    pub fn get_bytes(&self, key: &str) -> Result<Option<Vec<u8>>> {
        self.0.get(key).map_err(to_error)
    }

    /// As [`Store::set`], for uninterpreted bytes.
    ///
    /// ```
    /// # fn main() -> wharf_plugin::Result<()> {
    /// wharf_plugin::Store::open()?.set_bytes("photo", &[0xff, 0xd8])?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Store::set`].
    pub fn set_bytes(&self, key: &str, value: &[u8]) -> Result<()> {
        self.0.set(key, value).map_err(to_error)
    }

    /// Removes a key and its value; a missing key is not an error.
    ///
    /// ```
    /// # fn main() -> wharf_plugin::Result<()> {
    /// wharf_plugin::Store::open()?.delete("photo")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the host's store failed.
    pub fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).map_err(to_error)
    }

    /// Whether a key has a value.
    ///
    /// ```
    /// # fn main() -> wharf_plugin::Result<()> {
    /// assert!(!wharf_plugin::Store::open()?.exists("photo")?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the host's store failed.
    pub fn exists(&self, key: &str) -> Result<bool> {
        self.0.exists(key).map_err(to_error)
    }

    /// All keys of the bucket, in unspecified order.
    ///
    /// ```
    /// # use wharf_plugin::Store;
    /// # fn main() -> wharf_plugin::Result<()> {
    /// # let store = Store::open()?;
    /// store.set("a", &1)?;
    /// assert_eq!(store.keys()?, ["a"]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the host's store failed.
    pub fn keys(&self) -> Result<Vec<String>> {
        let mut page = self.0.list_keys(None).map_err(to_error)?;
        let mut keys = page.keys;
        while page.cursor.is_some() {
            page = self.0.list_keys(page.cursor).map_err(to_error)?;
            keys.append(&mut page.keys);
        }
        Ok(keys)
    }

    /// Adds to a number atomically and returns the sum; a missing key counts as 0.
    /// Concurrent calls never get the same sum.
    ///
    /// ```
    /// # use wharf_plugin::Store;
    /// # fn main() -> wharf_plugin::Result<()> {
    /// # let store = Store::open()?;
    /// assert_eq!(store.increment("next", 1)?, 1);
    /// assert_eq!(store.get::<u64>("next")?, Some(1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the value is not a whole number, or as [`Store::set`].
    pub fn increment(&self, key: &str, delta: u64) -> Result<u64> {
        sys::atomics::increment(&self.0, key, delta).map_err(to_error)
    }
}

/// The error as a text for the model.
fn to_error(error: raw::Error) -> Error {
    Error::failed(match error {
        raw::Error::AccessDenied => DENIED.into(),
        raw::Error::NoSuchStore => "there is no bucket of that name".into(),
        raw::Error::Other(why) => why,
    })
}

const DENIED: &str = "this plugin may not store anything: the operator of the server can grant it `keyvalue`; \
                      the server's log says how";

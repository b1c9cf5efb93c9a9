//! How much a plugin may store, wherever it is.

use super::store::StoreError;

/// Maximum bytes of a bucket's name.
pub(super) const MAX_BUCKET_NAME: usize = 64;
/// Maximum bytes of a key.
pub(super) const MAX_KEY: usize = 256;
/// Maximum bytes of a value.
pub(super) const MAX_VALUE: usize = 256 << 10;
/// Maximum keys of an owner, in all its buckets.
pub(super) const MAX_KEYS: u64 = 10_000;
/// Maximum keys in one page of a listing, and in one batch.
pub(super) const PAGE: usize = 1000;
/// Maximum bytes of the values that one batch returns: a key may be in it many times.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// What an owner may store in all its buckets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Maximum bytes.
    pub(super) quota: u64,
    /// Maximum bytes of all owners with the same plugin, if they are its users.
    pub(super) total: Option<u64>,
}

impl Limits {
    /// Whether an owner may have so many keys and bytes: more than before.
    pub(super) fn check(&self, keys: u64, bytes: u64) -> Result<(), StoreError> {
        if keys > MAX_KEYS {
            return Err(refused(format!("this plugin may have at most {MAX_KEYS} keys in all its buckets together")));
        }
        let quota = self.quota;
        if bytes > quota {
            return Err(refused(format!(
                "this plugin may store at most {quota} bytes in all; this write would make it {bytes}"
            )));
        }
        Ok(())
    }

    /// Whether all users of the plugin may have so many bytes together: more than before.
    pub(super) fn check_total(total: u64, bytes: u64) -> Result<(), StoreError> {
        if bytes > total {
            return Err(refused(format!("the users of this plugin may store at most {total} bytes together")));
        }
        Ok(())
    }
}

pub(super) fn check_batch(keys: usize) -> Result<(), StoreError> {
    if keys > PAGE {
        return Err(refused(format!("the batch has {keys} keys; the limit is {PAGE}")));
    }
    Ok(())
}

pub(super) fn check_entry(key: &str, value: &[u8]) -> Result<(), StoreError> {
    if key.len() > MAX_KEY {
        return Err(refused(format!("the key has {} bytes; the limit is {MAX_KEY}", key.len())));
    }
    if value.len() > MAX_VALUE {
        return Err(refused(format!("the value has {} bytes; the limit is {MAX_VALUE}", value.len())));
    }
    Ok(())
}

/// The bytes that one batch may return still.
pub(super) struct BatchBytes(usize);

impl BatchBytes {
    pub(super) const NEW: Self = Self(MAX_BATCH_BYTES);

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.0 = self
            .0
            .checked_sub(bytes)
            .ok_or_else(|| refused(format!("the values of one batch have more than {MAX_BATCH_BYTES} bytes")))?;
        Ok(())
    }
}

/// The number in a value, which is decimal text, and that number with something added; a missing value counts as 0.
pub(super) fn sum(value: Option<&[u8]>, delta: u64) -> Result<u64, StoreError> {
    let number = match value {
        None => 0,
        Some(text) => std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .ok_or_else(|| refused("the value to increment is no whole number".into()))?,
    };
    number.checked_add(delta).ok_or_else(|| refused("the incremented number would be too large for 64 bits".into()))
}

pub(super) fn refused(why: String) -> StoreError {
    StoreError::Refused(why)
}

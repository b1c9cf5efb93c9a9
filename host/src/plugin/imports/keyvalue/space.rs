//! One plugin's bucket, and its limits.
//!
//! A write and the check of its limits are one transaction: it succeeds as a whole, or changes
//! nothing.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::store::StoreError;

/// Maximum bytes of a key.
const MAX_KEY: usize = 256;
/// Maximum bytes of a value.
const MAX_VALUE: usize = 256 << 10;
/// Maximum keys of a plugin, in all its buckets.
const MAX_KEYS: i64 = 10_000;
/// Maximum keys in one page of a listing, and in one batch.
const PAGE: usize = 1000;
/// Maximum bytes of the values that one batch returns: a key may be in it many times.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// An owner's bucket in the open database.
pub(super) struct Space<'a> {
    pub(super) connection: &'a mut Connection,
    /// The plugin, or `PLUGIN/SUBJECT`; in the column `plugin`. A plugin's name has no slash.
    pub(super) owner: &'a str,
    pub(super) bucket: &'a str,
    /// Maximum bytes of the owner, in all its buckets.
    pub(super) quota: u64,
    /// Maximum bytes of all owners with the same plugin, if they are its users.
    pub(super) total: Option<u64>,
}

/// A page of keys, and the cursor of the next one.
pub(super) type Page = (Vec<String>, Option<u64>);
/// A key and its value.
pub(super) type Entry = (String, Vec<u8>);

impl Space<'_> {
    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(value(self.connection, self.owner, self.bucket, key)?)
    }

    pub(super) fn exists(&self, key: &str) -> Result<bool, StoreError> {
        let mut found =
            self.connection.prepare("SELECT 1 FROM entry WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?;
        Ok(found.exists(params![self.owner, self.bucket, key])?)
    }

    pub(super) fn get_many(&self, keys: Vec<String>) -> Result<Vec<Option<Entry>>, StoreError> {
        check_batch(keys.len())?;
        let mut left = MAX_BATCH_BYTES;
        let one = |key: String| {
            let Some(value) = self.get(&key)? else { return Ok(None) };
            left = left
                .checked_sub(value.len())
                .ok_or_else(|| refused(format!("the values of one batch have more than {MAX_BATCH_BYTES} bytes")))?;
            Ok(Some((key, value)))
        };
        keys.into_iter().map(one).collect()
    }

    /// The keys after that cursor, in the order in which they were first set.
    pub(super) fn keys(&self, cursor: Option<u64>) -> Result<Page, StoreError> {
        let after = cursor.map_or(0, |cursor| i64::try_from(cursor).unwrap_or(i64::MAX));
        let mut found = self.connection.prepare(
            "SELECT number, key FROM entry WHERE plugin = ?1 AND bucket = ?2 AND number > ?3 ORDER BY number LIMIT ?4",
        )?;
        let rows = found.query_map(params![self.owner, self.bucket, after, PAGE as i64 + 1], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
        let more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let cursor = rows.last().filter(|_| more).map(|(number, _)| number.unsigned_abs());
        Ok((rows.into_iter().map(|(_, key)| key).collect(), cursor))
    }

    pub(super) fn set_many(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        check_batch(entries.len())?;
        self.write(|write| entries.iter().try_for_each(|(key, value)| write.set(key, value)))
    }

    pub(super) fn delete_many(&mut self, keys: &[String]) -> Result<(), StoreError> {
        check_batch(keys.len())?;
        self.write(|write| {
            let mut delete =
                write.transaction.prepare("DELETE FROM entry WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?;
            for key in keys {
                delete.execute(params![write.owner, write.bucket, key])?;
            }
            Ok(())
        })
    }

    /// Adds to a number that is stored as decimal text; a missing key counts as 0.
    pub(super) fn increment(&mut self, key: &str, delta: u64) -> Result<u64, StoreError> {
        self.write(|write| {
            let number = match value(write.transaction, write.owner, write.bucket, key)? {
                None => 0,
                Some(text) => std::str::from_utf8(&text)
                    .ok()
                    .and_then(|text| text.parse::<u64>().ok())
                    .ok_or_else(|| refused("the value to increment is no whole number".into()))?,
            };
            let sum = number
                .checked_add(delta)
                .ok_or_else(|| refused("the incremented number would be too large for 64 bits".into()))?;
            write.set(key, sum.to_string().as_bytes())?;
            Ok(sum)
        })
    }

    /// Writes in a transaction, which is rolled back if a limit is exceeded.
    fn write<R>(&mut self, work: impl FnOnce(&WriteTransaction<'_>) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = Usage::of(&transaction, self.owner)?;
        let done = work(&WriteTransaction { transaction: &transaction, owner: self.owner, bucket: self.bucket })?;
        let after = Usage::of(&transaction, self.owner)?;
        // A write without growth is allowed: under a reduced quota a plugin must be able to delete.
        if after.keys > MAX_KEYS && after.keys > before.keys {
            return Err(refused(format!("this plugin may have at most {MAX_KEYS} keys in all its buckets together")));
        }
        if after.bytes.unsigned_abs() > self.quota && after.bytes > before.bytes {
            let (quota, bytes) = (self.quota, after.bytes);
            return Err(refused(format!(
                "this plugin may store at most {quota} bytes in all; this write would make it {bytes}"
            )));
        }
        if let Some(total) = self.total
            && after.bytes > before.bytes
            && Usage::together(&transaction, self.owner)? > total
        {
            return Err(refused(format!("the users of this plugin may store at most {total} bytes together")));
        }
        transaction.commit()?;
        Ok(done)
    }
}

/// An open transaction on an owner's bucket.
struct WriteTransaction<'a> {
    transaction: &'a Transaction<'a>,
    owner: &'a str,
    bucket: &'a str,
}

impl WriteTransaction<'_> {
    fn set(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        if key.len() > MAX_KEY {
            return Err(refused(format!("the key has {} bytes; the limit is {MAX_KEY}", key.len())));
        }
        if value.len() > MAX_VALUE {
            return Err(refused(format!("the value has {} bytes; the limit is {MAX_VALUE}", value.len())));
        }
        self.transaction.execute(
            "INSERT INTO entry (plugin, bucket, key, number, value) VALUES (?1, ?2, ?3,
                (SELECT coalesce(max(number), 0) + 1 FROM entry WHERE plugin = ?1 AND bucket = ?2), ?4)
             ON CONFLICT (plugin, bucket, key) DO UPDATE SET value = excluded.value",
            params![self.owner, self.bucket, key, value],
        )?;
        Ok(())
    }
}

/// The usage of an owner in all its buckets.
struct Usage {
    keys: i64,
    bytes: i64,
}

impl Usage {
    fn of(connection: &Connection, owner: &str) -> rusqlite::Result<Self> {
        let found = connection.query_row("SELECT keys, bytes FROM used WHERE plugin = ?1", [owner], |row| {
            Ok(Self { keys: row.get(0)?, bytes: row.get(1)? })
        });
        Ok(found.optional()?.unwrap_or(Self { keys: 0, bytes: 0 }))
    }

    /// Bytes of all users of the plugin that an owner is a user of.
    fn together(connection: &Connection, owner: &str) -> rusqlite::Result<u64> {
        let plugin = owner.split('/').next().unwrap_or_default();
        // `0` is the character after the slash.
        let found = connection.query_row(
            "SELECT coalesce(sum(bytes), 0) FROM used WHERE plugin >= ?1 || '/' AND plugin < ?1 || '0'",
            [plugin],
            |row| row.get::<_, i64>(0),
        );
        Ok(found?.unsigned_abs())
    }
}

fn value(connection: &Connection, owner: &str, bucket: &str, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut found = connection.prepare("SELECT value FROM entry WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?;
    found.query_row(params![owner, bucket, key], |row| row.get(0)).optional()
}

fn check_batch(keys: usize) -> Result<(), StoreError> {
    if keys > PAGE {
        return Err(refused(format!("the batch has {keys} keys; the limit is {PAGE}")));
    }
    Ok(())
}

fn refused(why: String) -> StoreError {
    StoreError::Refused(why)
}

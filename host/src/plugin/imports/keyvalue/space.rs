//! One plugin's bucket, and its limits.
//!
//! A write and the check of its limits are one transaction: it succeeds as a whole, or changes
//! nothing.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::limits::{BatchBytes, Limits, PAGE, check_batch, check_entry, sum};
use super::store::StoreError;
use super::values::{Entry, Page};

/// An owner's bucket in the open database.
pub(super) struct Space<'a> {
    pub(super) connection: &'a mut Connection,
    /// The plugin, or `PLUGIN/SUBJECT`; in the column `plugin`. A plugin's name has no slash.
    pub(super) owner: &'a str,
    pub(super) bucket: &'a str,
    pub(super) limits: Limits,
}

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
        let mut left = BatchBytes::NEW;
        let one = |key: String| {
            let Some(value) = self.get(&key)? else { return Ok(None) };
            left.take(value.len())?;
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
            let before = value(write.transaction, write.owner, write.bucket, key)?;
            let sum = sum(before.as_deref(), delta)?;
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
        let grown = |after: i64, before: i64| if after > before { after.unsigned_abs() } else { 0 };
        self.limits.check(grown(after.keys, before.keys), grown(after.bytes, before.bytes))?;
        if let Some(total) = self.limits.total
            && after.bytes > before.bytes
        {
            Limits::check_total(total, Usage::together(&transaction, self.owner)?)?;
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
        check_entry(key, value)?;
        Ok(put(self.transaction, self.owner, self.bucket, key, value)?)
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

/// Writes a value, without a look at limits.
pub(super) fn put(connection: &Connection, owner: &str, bucket: &str, key: &str, value: &[u8]) -> rusqlite::Result<()> {
    let mut write = connection.prepare(
        "INSERT INTO entry (plugin, bucket, key, number, value) VALUES (?1, ?2, ?3,
            (SELECT coalesce(max(number), 0) + 1 FROM entry WHERE plugin = ?1 AND bucket = ?2), ?4)
         ON CONFLICT (plugin, bucket, key) DO UPDATE SET value = excluded.value",
    )?;
    write.execute(params![owner, bucket, key, value]).map(drop)
}

pub(super) fn value(
    connection: &Connection,
    owner: &str,
    bucket: &str,
    key: &str,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut found = connection.prepare("SELECT value FROM entry WHERE plugin = ?1 AND bucket = ?2 AND key = ?3")?;
    found.query_row(params![owner, bucket, key], |row| row.get(0)).optional()
}

//! All values of this machine's file, as the entries that they are in a store for several nodes: to move them.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::local::owner;
use super::name::{self, Parsed};
use super::space;
use super::store::{Store, StoreError};
use crate::store;

/// Entries of one page.
const PAGE: usize = 256;

/// The file in which this machine keeps what plugins store.
pub struct KeyvalueFile(Arc<Store>);

impl KeyvalueFile {
    /// It is created when it is first used.
    pub fn new(path: PathBuf) -> Self {
        Self(Store::in_file(path))
    }

    /// Names and values after that row, and where to go on.
    ///
    /// # Errors
    /// If the file cannot be used.
    pub async fn list(&self, after: i64) -> Result<(Vec<(String, Vec<u8>)>, Option<i64>), store::StoreError> {
        let rows = self.0.run(move |connection| Ok(rows(connection, after)?)).await.map_err(failed)?;
        let next = rows.last().map(|(row, ..)| *row).filter(|_| rows.len() == PAGE);
        Ok((rows.into_iter().map(|(_, name, value)| (name, value)).collect(), next))
    }

    /// # Errors
    /// If the file cannot be used.
    pub async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, store::StoreError> {
        let Some(Parsed { plugin, subject, bucket, key }) = name::parse(name) else { return Ok(None) };
        let owner = owner(plugin, subject);
        let get = move |connection: &mut Connection| Ok(space::value(connection, &owner, &bucket, &key)?);
        self.0.run(get).await.map_err(failed)
    }

    /// Writes a value, whatever the limits of its plugin are.
    ///
    /// # Errors
    /// If the file cannot be used, or no plugin can have written that name.
    pub async fn put(&self, name: &str, value: Vec<u8>) -> Result<(), store::StoreError> {
        let Some(Parsed { plugin, subject, bucket, key }) = name::parse(name) else {
            return Err(store::StoreError(format!("the key of a value is damaged: {name}")));
        };
        let owner = owner(plugin, subject);
        let put = move |connection: &mut Connection| Ok(space::put(connection, &owner, &bucket, &key, &value)?);
        self.0.run(put).await.map_err(failed)
    }
}

fn failed(error: StoreError) -> store::StoreError {
    match error {
        StoreError::Refused(why) | StoreError::Failed(why) | StoreError::Full(why) => store::StoreError(why),
    }
}

fn rows(connection: &Connection, after: i64) -> rusqlite::Result<Vec<(i64, String, Vec<u8>)>> {
    let mut query = connection
        .prepare("SELECT rowid, plugin, bucket, key, value FROM entry WHERE rowid > ?1 ORDER BY rowid LIMIT ?2")?;
    let rows = query.query_map(params![after, PAGE], |row| {
        let (owner, bucket, key): (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
        let (plugin, subject) =
            owner.split_once('/').map_or((&*owner, None), |(plugin, subject)| (plugin, Some(subject)));
        Ok((row.get(0)?, name::of_key(&name::of_bucket(plugin, subject, &bucket), &key), row.get(4)?))
    })?;
    rows.collect()
}

/// Until version 2 the file had users' names.
pub(super) fn hash_subjects(connection: &Connection) -> rusqlite::Result<()> {
    let mut query = connection.prepare("SELECT plugin FROM used WHERE instr(plugin, '/') > 0")?;
    let owners: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for before in owners {
        let Some((plugin, who)) = before.split_once('/') else { continue };
        let after = owner(plugin, Some(&name::subject(who)));
        connection.execute("UPDATE entry SET plugin = ?2 WHERE plugin = ?1", [&before, &after])?;
        connection.execute("UPDATE used SET plugin = ?2 WHERE plugin = ?1", [&before, &after])?;
    }
    Ok(())
}

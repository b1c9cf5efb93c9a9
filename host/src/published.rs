//! The files of a plugin folder in the store of several nodes: published as one set, and taken from there.
//!
//! A set is one entry with the digest of each file; contents are entries by digest, in parts. So nodes see either one set
//! or the other, and what both have is there once. It knows no plugins: what may run is up to pins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use wharf_report::ShowPath as _;

use crate::json;
use crate::os::files::{self, Replacement};
use crate::plugin::MAX_COMPONENT;
use crate::registry::Sha256;
use crate::store::{Durability, Expected, Put, Store, StoreError, now};

/// The entry of the set.
pub const KEY: &str = "plugins/set";
/// What the keys of contents begin with.
const CONTENTS: &str = "plugins/file/";
/// While somebody publishes, and for how long at most, in milliseconds: contents that no set has yet must not be removed.
const TURN: &str = "plugins/turn";
const LASTS: u64 = 10 * 60 * 1000;
/// Bytes of a part: few enough for one request over a slow network.
const PART: usize = 1 << 20;
/// Files of a set, bytes of one, and of all.
const MAX_FILES: usize = 16_384;
const MAX_FILE: u64 = MAX_COMPONENT;
const MAX_BYTES: u64 = 8 << 30;
/// In a folder that is equal to a set: which one.
pub const RECORD: &str = ".wharf-published.json";
/// Bytes of a record, and of the entry of a set.
const MAX_RECORD: u64 = 8 << 20;
/// Keys that are looked at, at a time.
const PAGE: usize = 1000;

/// A file of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Item {
    pub digest: Sha256,
    /// Bytes.
    pub size: u64,
}

/// The files by their paths in the folder, with `/` between names.
pub type Items = BTreeMap<String, Item>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
struct Set {
    files: Items,
    /// Contents of the set before: a node may be about to fetch them.
    #[serde(default)]
    before: BTreeSet<Sha256>,
}

/// A file that is to be published.
pub enum Content {
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// What is different between two sets: paths, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
}

impl Changes {
    pub fn between(before: &Items, after: &Items) -> Self {
        let other = |path: &&String| before.get(*path).is_some_and(|item| *item != after[*path]);
        Self {
            added: after.keys().filter(|path| !before.contains_key(*path)).cloned().collect(),
            changed: after.keys().filter(other).cloned().collect(),
            removed: before.keys().filter(|path| !after.contains_key(*path)).cloned().collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        let Self { added, changed, removed } = self;
        added.is_empty() && changed.is_empty() && removed.is_empty()
    }
}

/// Why a set was not published or taken. Reads after "failed to".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    #[error("use the store: {0}")]
    Store(StoreError),
    #[error("{0}")]
    File(String),
    /// Too many files, or too large ones.
    #[error("publish more than {0}")]
    TooMuch(&'static str),
    /// Somebody else publishes.
    #[error("publish the set while somebody else does")]
    Concurrent,
    /// What is in the store is not what somebody has published.
    #[error("read the set in the store: {0}")]
    Damaged(String),
    /// The folder has files that are not from a set.
    #[error("make the folder equal to the published set: it has files of its own: {0}")]
    NotOurs(String),
}

impl From<StoreError> for PublishError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn file_error(what: &str, path: &Path, error: &impl std::fmt::Display) -> PublishError {
    PublishError::File(format!("{what}: {error}: {}", path.shown()))
}

/// The set that is published, if there is one.
///
/// # Errors
/// If the store cannot be used, or the set is damaged.
pub async fn published(store: &dyn Store) -> Result<Option<Items>, PublishError> {
    Ok(read(store).await?.map(|(set, _)| set.files))
}

async fn read(store: &dyn Store) -> Result<Option<(Set, u64)>, PublishError> {
    let Some(entry) = store.get(KEY).await? else { return Ok(None) };
    Ok(Some((parse(&entry.value).map_err(PublishError::Damaged)?, entry.version)))
}

fn parse(text: &[u8]) -> Result<Set, String> {
    let text = str::from_utf8(text).map_err(|error| error.to_string())?;
    let set: Set = json::read(text).map_err(|error| error.to_string())?;
    match set.files.iter().find(|(path, item)| !is_path(path) || item.size > MAX_FILE) {
        Some((path, _)) => Err(format!("no file of a plugin folder: {path:?}")),
        None if set.files.len() > MAX_FILES => Err(format!("more than {MAX_FILES} files")),
        None => Ok(set),
    }
}

/// Whether it stays below the folder, and is neither hidden nor a name that only some systems have.
fn is_path(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && !name.starts_with('.') && !name.contains(['\\', ':', '\0']) && name.len() <= 255
    };
    path.len() <= 1024
        && path.split('/').all(is_name)
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

impl Content {
    fn read(self) -> Result<Vec<u8>, PublishError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::File(path) => files::read(&path, MAX_FILE).map_err(|error| file_error("read a file", &path, &error)),
        }
    }
}

impl Item {
    fn of(content: &[u8]) -> Self {
        Self { digest: Sha256::of(content), size: content.len() as u64 }
    }
}

/// The set that these files are.
///
/// # Errors
/// If one cannot be read.
pub fn items(files: BTreeMap<String, Content>) -> Result<Items, PublishError> {
    files.into_iter().map(|(path, content)| Ok((path, Item::of(&content.read()?)))).collect()
}

/// Publishes a set in place of the one before. What is different.
///
/// # Errors
/// As [`PublishError`]; nothing is published then.
pub async fn publish(store: &dyn Store, files: BTreeMap<String, Content>) -> Result<Changes, PublishError> {
    if files.len() > MAX_FILES {
        return Err(PublishError::TooMuch("16,384 files"));
    }
    let turn = take_turn(store).await?;
    let done = publish_in_turn(store, files).await;
    // If its time is up, it is another one's.
    if store.get(TURN).await?.is_some_and(|entry| entry.version == turn) {
        store.delete(TURN).await?;
    }
    done
}

/// The version of the turn's entry.
async fn take_turn(store: &dyn Store) -> Result<u64, PublishError> {
    let expected = match store.get(TURN).await? {
        None => Expected::Absent,
        Some(entry) if entry.expires.is_none_or(|expires| expires <= now()) => Expected::Version(entry.version),
        Some(_) => return Err(PublishError::Concurrent),
    };
    let expires = Some(now().saturating_add(LASTS));
    let put = Put { key: TURN.to_owned(), value: Vec::new(), expected, durability: Durability::Process, expires };
    store.put(put).await?.ok_or(PublishError::Concurrent)
}

async fn publish_in_turn(store: &dyn Store, files: BTreeMap<String, Content>) -> Result<Changes, PublishError> {
    let (before, version) = read(store).await?.map_or((Set::default(), None), |(set, version)| (set, Some(version)));
    let (mut items, mut bytes) = (Items::new(), 0);
    for (path, content) in files {
        if !is_path(&path) {
            return Err(PublishError::File(format!("publish a file of that name: {path:?}")));
        }
        let content = content.read()?;
        let item = Item::of(&content);
        bytes += item.size;
        if item.size > MAX_FILE || bytes > MAX_BYTES {
            return Err(PublishError::TooMuch("8 GiB, or a file that is larger than a component may be"));
        }
        upload(store, &item, &content).await?;
        items.insert(path, item);
    }
    let changes = Changes::between(&before.files, &items);
    if changes.is_empty() && version.is_some() {
        return Ok(changes);
    }
    let kept = before.files.values().map(|item| item.digest).collect();
    let set = Set { files: items, before: kept };
    let value = serde_json::to_vec(&set).map_err(|error| PublishError::File(error.to_string()))?;
    let expected = version.map_or(Expected::Absent, Expected::Version);
    let put = Put { key: KEY.to_owned(), value, expected, durability: Durability::Power, expires: None };
    if store.put(put).await?.is_none() {
        return Err(PublishError::Concurrent);
    }
    remove_others(store, &set).await?;
    Ok(changes)
}

fn prefix(digest: &Sha256) -> String {
    format!("{CONTENTS}{}/", digest.hex())
}

fn parts(size: u64) -> usize {
    (size as usize).div_ceil(PART)
}

/// Writes a content, unless it is there.
async fn upload(store: &dyn Store, item: &Item, content: &[u8]) -> Result<(), PublishError> {
    let prefix = prefix(&item.digest);
    let there = store.usage(&prefix).await?;
    let names: u64 = (0..parts(item.size)).map(|part| name(&prefix, part).len() as u64).sum();
    if there.entries == parts(item.size) as u64 && there.bytes == names + item.size {
        return Ok(());
    }
    for (at, part) in content.chunks(PART).enumerate() {
        let (key, value) = (name(&prefix, at), part.to_vec());
        let put = Put { key, value, expected: Expected::Anything, durability: Durability::Power, expires: None };
        store.put(put).await?;
    }
    Ok(())
}

fn name(prefix: &str, part: usize) -> String {
    format!("{prefix}{part:04}")
}

/// Removes contents that neither this set nor the one before has.
async fn remove_others(store: &dyn Store, set: &Set) -> Result<(), PublishError> {
    let kept: BTreeSet<String> =
        set.files.values().map(|item| &item.digest).chain(&set.before).map(Sha256::hex).collect();
    let mut after = String::new();
    loop {
        let page = store.keys(CONTENTS, &after, PAGE).await?;
        for key in &page.keys {
            let digest = key[CONTENTS.len()..].split('/').next().unwrap_or_default();
            if !kept.contains(digest) {
                store.delete(key).await?;
            }
        }
        match page.keys.last().filter(|_| page.more) {
            Some(last) => after.clone_from(last),
            None => return Ok(()),
        }
    }
}

async fn download(store: &dyn Store, item: &Item) -> Result<Vec<u8>, PublishError> {
    let (prefix, mut content) = (prefix(&item.digest), Vec::new());
    for part in 0..parts(item.size) {
        let Some(entry) = store.get(&name(&prefix, part)).await? else { break };
        content.extend_from_slice(&entry.value);
        if content.len() as u64 > item.size {
            break;
        }
    }
    match Sha256::of(&content) == item.digest {
        true => Ok(content),
        false => Err(PublishError::Damaged(format!("a content is not there: sha256:{}", item.digest.hex()))),
    }
}

/// Makes a folder equal to the published set: all of it, or nothing. What is different. `None`: nothing is published.
///
/// # Errors
/// As [`PublishError`]; the folder is then as it was, unless it could not be written.
pub async fn pull(store: &dyn Store, folder: &Path) -> Result<Option<Changes>, PublishError> {
    let Some(items) = published(store).await? else { return Ok(None) };
    let before = recorded(folder)?;
    let mut written = Vec::new();
    for (path, item) in &items {
        let file = folder.join(path);
        let is_there = files::read(&file, MAX_FILE).is_ok_and(|content| Sha256::of(&content) == item.digest);
        if is_there {
            continue;
        }
        let content = download(store, item).await?;
        let writing = || -> io::Result<Replacement> {
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            Replacement::write(&file, &content)
        };
        written.push((path, writing().map_err(|error| file_error("write a file", &file, &error))?));
    }
    // Signatures before what they sign, and the record before what is removed.
    written.sort_by_key(|(path, _)| !path.ends_with(".minisig"));
    for (path, file) in written {
        file.commit().map_err(|error| file_error("write a file", &folder.join(path), &error))?;
    }
    let changes = Changes::between(&before, &items);
    for path in &changes.removed {
        remove(folder, path)?;
    }
    let record = serde_json::to_vec(&items).map_err(|error| PublishError::File(error.to_string()))?;
    let file = folder.join(RECORD);
    files::replace(&file, &record).map_err(|error| file_error("write a file", &file, &error))?;
    Ok(Some(changes))
}

/// The set to which the folder was made equal last.
fn recorded(folder: &Path) -> Result<Items, PublishError> {
    fs::create_dir_all(folder).map_err(|error| file_error("create a folder", folder, &error))?;
    let file = folder.join(RECORD);
    match files::read(&file, MAX_RECORD) {
        Ok(text) => {
            let set = str::from_utf8(&text).map_err(|error| error.to_string()).and_then(|text| {
                let items: Items = json::read(text).map_err(|error| error.to_string())?;
                items.keys().all(|path| is_path(path)).then_some(items).ok_or_else(|| "a path leaves it".to_owned())
            });
            set.map_err(|error| file_error("read what was published", &file, &error))
        }
        Err(files::FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
            // Whatever somebody has put there is not replaced.
            let entries = fs::read_dir(folder).map_err(|error| file_error("read a folder", folder, &error))?;
            let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
            names
                .find(|name| !name.starts_with('.'))
                .map_or_else(|| Ok(Items::new()), |name| Err(PublishError::NotOurs(name)))
        }
        Err(error) => Err(file_error("read what was published", &file, &error)),
    }
}

/// Removes a file, and the folders that are empty then.
fn remove(folder: &Path, path: &str) -> Result<(), PublishError> {
    let file = folder.join(path);
    match fs::remove_file(&file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(file_error("remove a file", &file, &error));
        }
        _ => {}
    }
    let parents = file.ancestors().skip(1).take_while(|parent| *parent != folder);
    // One that has other files stays.
    let _ = parents.map_while(|parent| fs::remove_dir(parent).ok()).count();
    Ok(())
}

#[cfg(test)]
mod tests;

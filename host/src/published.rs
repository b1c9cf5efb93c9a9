//! The files of a plugin folder in the store of several nodes: published as one set, and taken from there.
//!
//! A set is one entry with the digest of each file; contents are entries by digest, in parts. So nodes see either one set
//! or the other, and what both have is there once. It knows no plugins: what may run is up to pins.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use wharf_report::ShowPath as _;

use crate::json;
use crate::os::files::{self, FileError, Links};
use crate::os::lock::lock;
use crate::os::private::{self, OpenMode, Rule};
use crate::plugin::MAX_COMPONENT;
use crate::registry::Sha256;
use crate::skills::FOLDER;
use crate::store::{Durability, Expected, Put, Store, StoreError, Turn, now};
use crate::text;

/// The entry of the set.
pub const KEY: &str = "plugins/set";
/// What the keys of contents begin with.
const CONTENTS: &str = "plugins/file/";
/// Who publishes: contents that no set has yet must not be removed.
const TURN: &str = "plugins/turn";
/// Bytes of a part: few enough for one request over a slow network.
const PART: usize = 1 << 20;
/// Files of a set, bytes of one, and of all.
const MAX_FILES: usize = 16_384;
const MAX_FILE: u64 = MAX_COMPONENT;
const MAX_BYTES: u64 = 8 << 30;
/// In a folder that is equal to a set: which one.
pub const RECORD: &str = ".wharf-published.json";
/// In such a folder: what is fetched, until all of it is there.
const INCOMING: &str = ".wharf-incoming";
/// In such a folder: locked by who writes to it, and how long others wait.
const TURN_FILE: &str = ".wharf-published.lock";
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a record, and of the entry of a set.
const MAX_RECORD: u64 = 8 << 20;
/// Bytes of a path that are shown.
const SHOWN: usize = 200;
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
    /// What the folder was made equal to last is not known.
    #[error("read what was published: {0}")]
    Record(String),
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

fn record_error(file: &Path, error: &impl std::fmt::Display) -> PublishError {
    PublishError::Record(format!("{error}: {}", file.shown()))
}

/// The set that is published, if there is one.
///
/// # Errors
/// If the store cannot be used, or the set is damaged.
pub async fn published(store: &dyn Store) -> Result<Option<Items>, PublishError> {
    match read(store).await? {
        Some((set, _)) => Ok(Some(set.map_err(PublishError::Damaged)?.files)),
        None => Ok(None),
    }
}

/// The version of its entry: another one for each set.
///
/// # Errors
/// If the store cannot be used.
pub async fn version(store: &dyn Store) -> Result<Option<u64>, StoreError> {
    Ok(store.get(KEY).await?.map(|entry| entry.version))
}

/// The set, or what is wrong with it; and the version of its entry.
async fn read(store: &dyn Store) -> Result<Option<(Result<Set, String>, u64)>, StoreError> {
    Ok(store.get(KEY).await?.map(|entry| (parse(&entry.value), entry.version)))
}

fn parse(text: &[u8]) -> Result<Set, String> {
    let text = str::from_utf8(text).map_err(|error| error.to_string())?;
    let set: Set = json::read(text).map_err(|error| error.to_string())?;
    if let Some((path, _)) = set.files.iter().find(|(path, item)| !is_path(path) || item.size > MAX_FILE) {
        return Err(format!("no file of a plugin folder: {}", text::quote(path, SHOWN)));
    }
    if let Some(path) = set.files.keys().find(|path| is_below_another(path, &set.files)) {
        return Err(format!("below a path that is a file itself: {}", text::quote(path, SHOWN)));
    }
    if set.files.len() > MAX_FILES {
        return Err(format!("more than {MAX_FILES} files"));
    }
    match set.files.values().map(|item| item.size).sum::<u64>() > MAX_BYTES {
        true => Err("more than 8 GiB".to_owned()),
        false => Ok(set),
    }
}

/// Whether it is the path of a file that a server looks for: of a plugin or its signature, in the folder or a folder in
/// it, or of a skill.
fn is_path(path: &str) -> bool {
    let is_char = |c: char| !(c.is_control() || matches!(c, '\\' | ':') || text::is_deceptive(c));
    let is_name =
        |name: &&str| !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.chars().all(is_char);
    let names: Vec<&str> = path.split('/').collect();
    let is_plugin = names.len() <= 2 && (path.ends_with(".wasm") || path.ends_with(".wasm.minisig"));
    let is_skill = names.len() >= 3 && names[0] == FOLDER;
    path.len() <= 1024 && names.iter().all(is_name) && (is_plugin || is_skill)
}

/// Whether a folder that it is in is a file of the set.
fn is_below_another(path: &str, files: &Items) -> bool {
    path.match_indices('/').any(|(end, _)| files.contains_key(&path[..end]))
}

impl Content {
    fn read(&self) -> Result<Cow<'_, [u8]>, PublishError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.into()),
            Self::File(path) => {
                read_file(path).map(Into::into).map_err(|error| file_error("read a file", path, &error))
            }
        }
    }
}

/// A link might lead to anything that the operator can read.
fn read_file(path: &Path) -> Result<Vec<u8>, FileError> {
    let (file, found) = files::open(path, Links::NotFollowed)?;
    files::read_opened(file, &found, MAX_FILE)
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
pub fn items(files: &BTreeMap<String, Content>) -> Result<Items, PublishError> {
    files.iter().map(|(path, content)| Ok((path.clone(), Item::of(&content.read()?)))).collect()
}

/// What [`publish`] has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    pub changes: Changes,
    /// Contents of the set before that were damaged or gone, and were written again.
    pub mended: usize,
}

/// Publishes a set in place of the one before, also if that cannot be read.
///
/// # Errors
/// As [`PublishError`]; nothing is published then.
pub async fn publish(store: &Arc<dyn Store>, files: &BTreeMap<String, Content>) -> Result<Done, PublishError> {
    if files.len() > MAX_FILES {
        return Err(PublishError::TooMuch("16,384 files"));
    }
    let turn = Turn::take(store, TURN, now()).await?.ok_or(PublishError::Concurrent)?;
    let done = publish_in_turn(&**store, files).await;
    turn.end().await;
    done
}

async fn publish_in_turn(store: &dyn Store, files: &BTreeMap<String, Content>) -> Result<Done, PublishError> {
    let (before, version) = read(store).await?.unzip();
    // One that cannot be read is replaced as a whole.
    let known = before.and_then(Result::ok);
    let before = known.clone().unwrap_or_default();
    let had: BTreeSet<Sha256> = before.files.values().map(|item| item.digest).collect();
    let (mut items, mut bytes, mut mended) = (Items::new(), 0, 0);
    for (path, content) in files {
        if !is_path(path) {
            return Err(PublishError::File(format!("publish a file of that name: {}", text::quote(path, SHOWN))));
        }
        let content = content.read()?;
        let item = Item::of(&content);
        bytes += item.size;
        if item.size > MAX_FILE || bytes > MAX_BYTES {
            return Err(PublishError::TooMuch("8 GiB, or a file that is larger than a component may be"));
        }
        if upload(store, &item, &content).await? && had.contains(&item.digest) {
            mended += 1;
        }
        items.insert(path.clone(), item);
    }
    let changes = Changes::between(&before.files, &items);
    if changes.is_empty() && known.is_some() {
        return Ok(Done { changes, mended });
    }
    let set = Set { files: items, before: had };
    let value = serde_json::to_vec(&set).map_err(|error| PublishError::File(error.to_string()))?;
    let expected = version.map_or(Expected::Absent, Expected::Version);
    let put = Put { key: KEY.to_owned(), value, expected, durability: Durability::Power, expires: None };
    if store.put(put).await?.is_none() {
        return Err(PublishError::Concurrent);
    }
    remove_others(store, &set).await?;
    Ok(Done { changes, mended })
}

fn prefix(digest: &Sha256) -> String {
    format!("{CONTENTS}{}/", digest.hex())
}

fn parts(size: u64) -> usize {
    (size as usize).div_ceil(PART)
}

/// Writes a content, unless it is there as it should be. Whether it was written.
async fn upload(store: &dyn Store, item: &Item, content: &[u8]) -> Result<bool, PublishError> {
    let prefix = prefix(&item.digest);
    match download(store, item).await {
        Ok(_) => return Ok(false),
        Err(PublishError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    for (at, part) in content.chunks(PART).enumerate() {
        let (key, value) = (name(&prefix, at), part.to_vec());
        let put = Put { key, value, expected: Expected::Anything, durability: Durability::Power, expires: None };
        store.put(put).await?;
    }
    Ok(true)
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
    match Item::of(&content) == *item {
        true => Ok(content),
        false => Err(PublishError::Damaged(format!(
            "a content of {} bytes is not there: sha256:{}",
            item.size,
            item.digest.hex()
        ))),
    }
}

/// Makes a folder equal to the published set: nothing is changed before all of it is there. What is different. `None`:
/// nothing is published.
///
/// # Errors
/// As [`PublishError`]; the folder is then as it was, unless it could not be written. Who tries again mends it.
pub async fn pull(store: &dyn Store, folder: &Path) -> Result<Option<Changes>, PublishError> {
    let Some(items) = published(store).await? else { return Ok(None) };
    fs::create_dir_all(folder).map_err(|error| file_error("create a folder", folder, &error))?;
    let _turn = take_folder(folder)?;
    let before = recorded(folder)?;
    let changes = Changes::between(&before, &items);
    let below = |path: &str, other: &str| path.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    check_places(folder, items.keys().chain(&changes.removed))?;
    let is_taken =
        |path: &&String| folder.join(path).is_dir() && !changes.removed.iter().any(|removed| below(removed, path));
    if let Some(path) = items.keys().find(is_taken) {
        return Err(PublishError::NotOurs(format!("the folder {path}")));
    }
    let incoming = folder.join(INCOMING);
    let cleared = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error("clear a folder", &incoming, &error)),
        _ => Ok(()),
    };
    // Of one that was stopped.
    cleared(fs::remove_dir_all(&incoming))?;
    let mut fetched = Vec::new();
    for (path, item) in &items {
        let file = folder.join(path);
        if read_file(&file).is_ok_and(|content| Sha256::of(&content) == item.digest) {
            continue;
        }
        let content = download(store, item).await?;
        let next = incoming.join(fetched.len().to_string());
        let written = fs::create_dir_all(&incoming).and_then(|()| files::replace(&next, &content));
        written.map_err(|error| file_error("write a file", &next, &error))?;
        fetched.push((path, next));
    }
    // What is a folder now was a file, or the other way round.
    let in_the_way = |removed: &&String| items.keys().any(|path| below(path, removed) || below(removed, path));
    let (first, last): (Vec<_>, Vec<_>) = changes.removed.iter().partition(in_the_way);
    first.into_iter().try_for_each(|path| remove(folder, path))?;
    // Signatures before what they sign.
    fetched.sort_by_key(|(path, _)| !path.ends_with(".minisig"));
    for (path, next) in fetched {
        let file = folder.join(path);
        let placed = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::rename(next, &file));
        placed.map_err(|error| file_error("write a file", &file, &error))?;
    }
    last.into_iter().try_for_each(|path| remove(folder, path))?;
    let record = serde_json::to_vec(&items).map_err(|error| PublishError::File(error.to_string()))?;
    let (file, next) = (folder.join(RECORD), incoming.join(RECORD));
    // Through that folder, which the next pull clears if this one is stopped.
    let written = fs::create_dir_all(&incoming).and_then(|()| files::replace(&next, &record));
    written.and_then(|()| fs::rename(&next, &file)).map_err(|error| file_error("write a file", &file, &error))?;
    cleared(fs::remove_dir_all(&incoming))?;
    Ok(Some(changes))
}

/// Makes sure that no one else writes to the folder: neither another pull, nor another user.
fn take_folder(folder: &Path) -> Result<File, PublishError> {
    let failed = |error: io::Error| file_error("use a folder", folder, &error);
    let found = fs::metadata(folder).map_err(failed)?;
    if let Some(why) = private::distrust(&found, Rule::Installed) {
        return Err(PublishError::File(format!("use a folder: {why}: {}", folder.shown())));
    }
    let (file, _) = private::open(&folder.join(TURN_FILE), OpenMode::Lock).map_err(io::Error::from).map_err(failed)?;
    lock(&file, LOCK_TIMEOUT).map_err(failed)?;
    Ok(file)
}

/// Makes sure that all paths are in the folder, whatever somebody has put there.
fn check_places<'a>(folder: &Path, paths: impl Iterator<Item = &'a String>) -> Result<(), PublishError> {
    let mut known = BTreeSet::new();
    for path in paths {
        let file = folder.join(path);
        for parent in file.ancestors().skip(1).take_while(|parent| *parent != folder) {
            if known.insert(parent.to_owned()) && fs::symlink_metadata(parent).is_ok_and(|found| found.is_symlink()) {
                return Err(PublishError::NotOurs(format!("the link {}", parent.shown())));
            }
        }
    }
    Ok(())
}

/// The set to which the folder was made equal last.
fn recorded(folder: &Path) -> Result<Items, PublishError> {
    let file = folder.join(RECORD);
    match files::read(&file, MAX_RECORD) {
        Ok(text) => {
            let set = str::from_utf8(&text).map_err(|error| error.to_string()).and_then(|text| {
                let items: Items = json::read(text).map_err(|error| error.to_string())?;
                items.keys().all(|path| is_path(path)).then_some(items).ok_or_else(|| "a path leaves it".to_owned())
            });
            set.map_err(|error| record_error(&file, &error))
        }
        Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
            // Whatever somebody has put there is not replaced.
            let entries = fs::read_dir(folder).map_err(|error| file_error("read a folder", folder, &error))?;
            let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
            names
                .find(|name| !name.starts_with('.'))
                .map_or_else(|| Ok(Items::new()), |name| Err(PublishError::NotOurs(name)))
        }
        Err(error) => Err(record_error(&file, &error)),
    }
}

/// Removes a file, and the folders that are empty then.
fn remove(folder: &Path, path: &str) -> Result<(), PublishError> {
    let file = folder.join(path);
    match fs::remove_file(&file) {
        // A folder is somebody else's.
        Err(error)
            if ![io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::IsADirectory]
                .contains(&error.kind()) =>
        {
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

//! Compiled components on disk, so that a start does not compile what it has compiled.
//!
//! An entry is used only if its MAC is right: wasmtime accepts a flipped byte in native
//! code. Whatever is wrong with the cache costs a compilation, never more, and a folder or key that
//! is missing or damaged is made again, also while it is in use.

mod artifact;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use wasmtime::Engine;

pub(in crate::plugin) use artifact::{Artifact, Code, Kept};

use crate::os::private::{self, Durability, OpenMode};
use crate::os::sealed::{Open, Sealed};
use crate::plugin::id::Digest;

/// Bytes that all entries together may have; the least recently used go first.
const MAX_TOTAL: u64 = 2 << 30;
/// Bytes of one entry.
const MAX_ENTRY: u64 = 257 << 20;
const KEY: &str = "key";
const MAC: usize = 32;
/// Bytes that are read at once.
const PIECE: usize = 256 << 10;

pub(in crate::plugin) struct Cache {
    dir: PathBuf,
    /// Of the engine: its version and settings.
    compatibility: u64,
    max_total: u64,
    /// Something went wrong since the last entry was kept, and was told.
    troubled: AtomicBool,
}

impl Cache {
    /// Makes the folder and its key. What cannot be made now is tried again with each entry.
    pub(in crate::plugin) fn open(dir: PathBuf, engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let cache =
            Self { dir, compatibility: hasher.finish(), max_total: MAX_TOTAL, troubled: AtomicBool::new(false) };
        if let Err(error) = key(&cache.dir) {
            cache.warn("be opened", &error);
        }
        cache
    }

    /// The entry of a component, if there is an authentic one.
    pub(in crate::plugin) fn get(&self, digest: Digest) -> Option<Kept> {
        let name = self.name(digest);
        match self.read(&name, digest) {
            Ok(code) => code.map(Kept::authenticated),
            Err(error) => {
                self.warn(&format!("give the entry {name}"), &error);
                None
            }
        }
    }

    /// Keeps an artifact. What is wrong with the disk is told once.
    pub(in crate::plugin) fn put(&self, digest: Digest, artifact: &Artifact) {
        let kept = key(&self.dir).and_then(|key| {
            let name = self.name(digest);
            let mut mac = mac(&key, &name);
            mac.update(artifact.code());
            replace(&self.dir, &name, &[artifact.code(), mac.finalize().as_bytes()])?;
            self.prune()
        });
        match kept {
            Ok(()) => self.troubled.store(false, Ordering::Relaxed),
            Err(error) => self.warn("keep an entry", &error),
        }
    }

    fn name(&self, digest: Digest) -> String {
        format!("{digest}-{:016x}.cwasm", self.compatibility)
    }

    /// The code of an entry, authenticated while it is copied to where nobody can change it; `None`
    /// if there is no such entry.
    fn read(&self, name: &str, digest: Digest) -> io::Result<Option<Sealed>> {
        let key = key(&self.dir)?;
        let (mut file, size) = match open(&self.dir.join(name), MAX_ENTRY) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let not_authentic = || io::Error::new(io::ErrorKind::InvalidData, "it is not authentic");
        let mut left = size.checked_sub(MAC as u64).ok_or_else(not_authentic)?;
        let (mut right, mut code) = (mac(&key, name), memory_for(digest));
        let mut piece = vec![0; PIECE];
        while left > 0 {
            let length = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            let piece = &mut piece[..length];
            file.read_exact(piece)?;
            right.update(piece);
            code.write_all(piece)?;
            left -= length as u64;
        }
        let mut found = [0; MAC];
        file.read_exact(&mut found)?;
        // `blake3::Hash` compares in constant time.
        if right.finalize() != found {
            return Err(not_authentic());
        }
        // What is used last is dropped last.
        let _ = file.set_modified(SystemTime::now());
        code.seal().map(Some)
    }

    fn warn(&self, what: &str, error: &io::Error) {
        let dir = self.dir.display();
        if !self.troubled.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the cache of compiled components failed to {what}, plugins are compiled again until that is mended; \
                 if its folder was replaced while the server ran, restart it: {dir}: {error}"
            );
        } else {
            tracing::debug!("the cache of compiled components failed to {what}: {dir}: {error}");
        }
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let path = entry.path();
            let ours = path.extension().is_some_and(|e| e == "cwasm" || e == "tmp");
            // Another process may prune at the same time.
            if ours && let Ok(found) = entry.metadata() {
                entries.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), found.len(), path));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in entries {
            if total <= self.max_total {
                break;
            }
            let _ = fs::remove_file(path);
            total -= size;
        }
        Ok(())
    }
}

/// To be fed with the code of the entry of that name.
fn mac(key: &[u8; 32], name: &str) -> blake3::Hasher {
    let mut mac = blake3::Hasher::new_keyed(key);
    mac.update(name.as_bytes());
    mac.update(&[0]);
    mac
}

/// The key of this installation, made by whoever comes first. It is read for each entry: the
/// folder may have been deleted since, or the key been made again by another process.
fn key(dir: &Path) -> io::Result<[u8; 32]> {
    private::create_trusted_folder(dir)?;
    let path = dir.join(KEY);
    let damage = match read_key(&path) {
        Ok(key) => return Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error),
    };
    let mut fresh = [0; 32];
    getrandom::fill(&mut fresh).map_err(io::Error::other)?;
    let temporary = write_temporary(dir, KEY, &[&fresh])?;
    let put = match &damage {
        // A hard link fails if another process was faster; its key is then ours too.
        None => match fs::hard_link(&temporary, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        },
        Some(_) => fs::rename(&temporary, &path),
    };
    let _ = fs::remove_file(&temporary);
    put?;
    if let Some(damage) = damage {
        let path = path.display();
        tracing::warn!("made a new key for the cache, what it kept is compiled again: {path}: {damage}");
    }
    read_key(&path)
}

fn read_key(path: &Path) -> io::Result<[u8; 32]> {
    let (mut file, size) = open(path, 64)?;
    let mut key = [0; 32];
    if size != key.len() as u64 {
        return Err(io::Error::other("it has the wrong length"));
    }
    file.read_exact(&mut key)?;
    Ok(key)
}

/// Opens a file of the folder, and says how long it is.
fn open(path: &Path, max: u64) -> io::Result<(File, u64)> {
    let (file, found) = private::open(path, OpenMode::Read)?;
    if found.len() > max {
        return Err(io::Error::other("it is too large"));
    }
    Ok((file, found.len()))
}

/// Where code of that component is copied to.
fn memory_for(content: Digest) -> Open {
    // What it is called in the list of a process's mappings.
    Open::new(&format!("wharf:{content}"))
}

/// Readers see the old file or the new one, never a part.
fn replace(dir: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let temporary = write_temporary(dir, name, parts)?;
    fs::rename(&temporary, dir.join(name)).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

fn write_temporary(dir: &Path, name: &str, parts: &[&[u8]]) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let path = dir.join(format!(".{name}.{process}.{count}.tmp"));
    // A key that is not whole after a power failure would be made again, and the entries with it.
    let durability = if name == KEY { Durability::Synced } else { Durability::Deferred };
    private::write(&path, parts, durability).map(|()| path)
}

#[cfg(test)]
mod tests;

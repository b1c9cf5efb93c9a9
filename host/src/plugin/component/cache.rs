//! The cache of compiled components on disk: a component is compiled once, not at each start. Beside the
//! code are the listings of earlier loads, which a newer engine can still read.
//!
//! An entry is used only if its MAC is valid: wasmtime accepts a flipped byte in native
//! code. A fault of the cache costs a compilation, never more. A missing or damaged folder or key
//! is recreated, also while it is in use.

mod artifact;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use wasmtime::Engine;
use wharf_report::ShowPath as _;

pub(in crate::plugin) use artifact::{Artifact, Code, SealedCode};

use super::engine::EngineKind;
use super::link;
use crate::os::private::{self, Durability, OpenMode};
use crate::os::sealed::{Sealed, Unsealed};
use crate::plugin::id::Digest;

/// Maximum bytes of all entries together; the least recently used are removed first.
const MAX_TOTAL: u64 = 2 << 30;
/// Maximum bytes of one entry.
const MAX_ENTRY: u64 = 257 << 20;
const KEY: &str = "key";
/// The extension of stored listings.
const LISTING: &str = "listing";
const MAC: usize = 32;
/// Bytes of one read.
const CHUNK: usize = 256 << 10;

pub(in crate::plugin) struct Cache {
    dir: PathBuf,
    /// Hash of the engine's version and settings, and of what is done before it compiles.
    compatibility: u64,
    max_total: u64,
    /// An error was logged since the last entry was stored.
    failing: AtomicBool,
}

impl Cache {
    /// Creates the folder and its key. A failure is logged, and retried with each entry.
    pub(in crate::plugin) fn open(dir: PathBuf, engine: &Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        link::VERSION.hash(&mut hasher);
        let cache = Self { dir, compatibility: hasher.finish(), max_total: MAX_TOTAL, failing: AtomicBool::new(false) };
        if let Err(error) = key(&cache.dir) {
            cache.warn("open", &error);
        }
        cache
    }

    /// The entry of a component for an engine of that kind, if there is an authentic one.
    pub(in crate::plugin) fn get(&self, digest: Digest, kind: EngineKind) -> Option<SealedCode> {
        self.entry(&self.name(digest, kind), digest).map(SealedCode::authenticated)
    }

    /// Whether there is an entry of a component, authentic or not.
    pub(in crate::plugin) fn has_code(&self, digest: Digest) -> bool {
        EngineKind::ALL.into_iter().any(|kind| self.dir.join(self.name(digest, kind)).exists())
    }

    /// Stores an artifact. Of consecutive failures the first is a warning.
    pub(in crate::plugin) fn put(&self, digest: Digest, kind: EngineKind, artifact: &Artifact) {
        self.store(&self.name(digest, kind), artifact.code());
    }

    /// Stores the code of a component also for another.
    pub(in crate::plugin) fn copy_code(&self, from: Digest, to: Digest) {
        for kind in EngineKind::ALL {
            if let Some(code) = self.entry(&self.name(from, kind), from).and_then(|code| code.into_bytes().ok()) {
                self.store(&self.name(to, kind), &code);
            }
        }
    }

    /// A listing that was stored under this digest.
    pub(in crate::plugin) fn listing(&self, digest: Digest) -> Option<Vec<u8>> {
        self.entry(&listing_name(digest), digest)?.into_bytes().ok()
    }

    /// Stores a listing, if it is not the stored one.
    pub(in crate::plugin) fn put_listing(&self, digest: Digest, listing: &[u8]) {
        if self.listing(digest).is_none_or(|stored| stored != listing) {
            self.store(&listing_name(digest), listing);
        }
    }

    fn entry(&self, name: &str, digest: Digest) -> Option<Sealed> {
        self.read(name, digest).unwrap_or_else(|error| {
            self.warn(&format!("read the entry {name} of"), &error);
            None
        })
    }

    fn store(&self, name: &str, content: &[u8]) {
        let stored = key(&self.dir).and_then(|key| {
            let mut mac = mac(&key, name);
            mac.update(content);
            replace(&self.dir, name, &[content, mac.finalize().as_bytes()])?;
            self.prune()
        });
        match stored {
            Ok(()) => self.failing.store(false, Ordering::Relaxed),
            Err(error) => self.warn("store an entry in", &error),
        }
    }

    fn name(&self, digest: Digest, kind: EngineKind) -> String {
        let kind = match kind {
            EngineKind::Synchronous => "",
            EngineKind::Asynchronous => "-async",
        };
        format!("{digest}-{:016x}{kind}.cwasm", self.compatibility)
    }

    /// The content of an entry, authenticated while it is copied into sealed memory; `None` if there
    /// is no such entry.
    fn read(&self, name: &str, digest: Digest) -> io::Result<Option<Sealed>> {
        let key = key(&self.dir)?;
        let (mut file, size) = match open(&self.dir.join(name), MAX_ENTRY) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let not_authentic = || io::Error::new(io::ErrorKind::InvalidData, "it is not authentic");
        let mut left = size.checked_sub(MAC as u64).ok_or_else(not_authentic)?;
        let (mut computed, mut code) = (mac(&key, name), memory_for(digest));
        let mut chunk = vec![0; CHUNK];
        while left > 0 {
            let length = usize::try_from(left).map_or(CHUNK, |left| left.min(CHUNK));
            let chunk = &mut chunk[..length];
            file.read_exact(chunk)?;
            computed.update(chunk);
            code.write_all(chunk)?;
            left -= length as u64;
        }
        let mut stored = [0; MAC];
        file.read_exact(&mut stored)?;
        // `blake3::Hash` compares in constant time.
        if computed.finalize() != stored {
            return Err(not_authentic());
        }
        // The order in which entries are pruned.
        let _ = file.set_modified(SystemTime::now());
        code.seal().map(Some)
    }

    fn warn(&self, what: &str, error: &io::Error) {
        let dir = self.dir.shown();
        if !self.failing.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "failed to {what} the cache of compiled components, plugins are compiled again until this is fixed; \
                 if its folder was replaced while the server was running, restart the server: {dir}: {error}"
            );
        } else {
            tracing::debug!("failed to {what} the cache of compiled components: {dir}: {error}");
        }
    }

    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let path = entry.path();
            let ours = path.extension().is_some_and(|e| e == "cwasm" || e == LISTING || e == "tmp");
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

fn listing_name(digest: Digest) -> String {
    format!("{digest}.{LISTING}")
}

/// A hasher for the MAC of the entry of that name; its code is still to be added.
fn mac(key: &[u8; 32], name: &str) -> blake3::Hasher {
    let mut mac = blake3::Hasher::new_keyed(key);
    mac.update(name.as_bytes());
    mac.update(&[0]);
    mac
}

/// The key of this installation, created by the first process that needs it. It is read for each
/// entry: the folder may have been deleted since, or another process may have recreated the key.
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
        // A hard link fails if another process was faster; its key is used then.
        None => match fs::hard_link(&temporary, &path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        },
        Some(_) => fs::rename(&temporary, &path),
    };
    let _ = fs::remove_file(&temporary);
    put?;
    if let Some(damage) = damage {
        let path = path.shown();
        tracing::warn!("replaced the damaged key of the cache, its plugins are compiled again: {path}: {damage}");
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

/// Opens a file of the folder; returns it with its length.
fn open(path: &Path, max: u64) -> io::Result<(File, u64)> {
    let (file, found) = private::open(path, OpenMode::Read)?;
    if found.len() > max {
        return Err(io::Error::other("it is too large"));
    }
    Ok((file, found.len()))
}

/// Memory for the code of that component.
fn memory_for(content: Digest) -> Unsealed {
    // The name is shown in the list of a process's mappings.
    Unsealed::new(&format!("wharf:{content}"))
}

/// Replaces a file atomically: readers see the old one or the new one, never a part.
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
    // A key that is incomplete after a power failure would be replaced, and all entries with it.
    let on_disk = if name == KEY { Durability::Synced } else { Durability::Deferred };
    private::write(&path, parts, on_disk).map(|()| path)
}

#[cfg(test)]
mod tests;

//! Compiled components on disk, so that a start does not compile what it has compiled.
//!
//! An entry is used only if its MAC is right: wasmtime accepts a flipped byte in native
//! code. Whatever is wrong with the cache costs a compilation, never more.

mod artifact;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use rustix::fs::OFlags;
use wasmtime::Engine;

pub(super) use artifact::{Artifact, Code, Kept};

use super::id::Digest;

/// Bytes that all entries together may have; the least recently used go first.
const MAX_TOTAL: u64 = 2 << 30;
/// Bytes of one entry.
const MAX_ENTRY: u64 = 257 << 20;
const KEY: &str = "key";
const MAC: usize = 32;

pub(super) struct Cache {
    dir: PathBuf,
    key: [u8; 32],
    /// Of the engine: its version and settings.
    compatibility: u64,
    max_total: u64,
    warned: AtomicBool,
}

impl Cache {
    /// Opens or makes the folder; `None`, with a warning, if it cannot be used.
    pub(super) fn open(dir: PathBuf, engine: &Engine) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let key = private_dir(&dir).and_then(|()| key(&dir));
        match key {
            Ok(key) => Some(Self {
                dir,
                key,
                compatibility: hasher.finish(),
                max_total: MAX_TOTAL,
                warned: AtomicBool::new(false),
            }),
            Err(error) => {
                tracing::warn!("keep no compiled components in {}: {error}", dir.display());
                None
            }
        }
    }

    /// The entry of a component, if there is an authentic one.
    pub(super) fn get(&self, digest: Digest) -> Option<Kept> {
        let name = self.name(digest);
        let path = self.dir.join(&name);
        let (file, mac, right) = match self.read(&name, &path) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                self.warn(&format!("read the entry {name}: {error}"));
                return None;
            }
        };
        // `blake3::Hash` compares in constant time.
        if right != mac {
            self.warn(&format!("trust the entry {name}, which is not authentic"));
            return None;
        }
        // What is used last is dropped last.
        let _ = File::set_modified(&file, SystemTime::now());
        Some(Kept::authenticated(path))
    }

    /// Keeps an artifact. A full or read-only disk is told of once.
    pub(super) fn put(&self, digest: Digest, artifact: &Artifact) {
        let name = self.name(digest);
        let mut mac = self.mac(&name);
        mac.update(artifact.code());
        let mac = mac.finalize();
        // The code first: it is loaded from where it lies, which begins with a page.
        let parts = [artifact.code(), mac.as_bytes().as_slice()];
        if let Err(error) = replace(&self.dir, &name, &parts).and_then(|()| self.prune()) {
            self.warn(&format!("write to {}: {error}", self.dir.display()));
        }
    }

    fn name(&self, digest: Digest) -> String {
        format!("{digest}-{:016x}.cwasm", self.compatibility)
    }

    /// The MAC that an entry has and the one that it should have. Read piece by piece: code is
    /// mapped later, and a copy of it would leave the heap larger than what is kept there.
    fn read(&self, name: &str, path: &Path) -> io::Result<(File, [u8; MAC], blake3::Hash)> {
        let (file, size) = open(path, MAX_ENTRY)?;
        let mut right = self.mac(name);
        right.update_reader((&file).take(size.saturating_sub(MAC as u64)))?;
        let mut mac = [0; MAC];
        (&file).read_exact(&mut mac)?;
        Ok((file, mac, right.finalize()))
    }

    /// To be fed with the code.
    fn mac(&self, name: &str) -> blake3::Hasher {
        let mut mac = blake3::Hasher::new_keyed(&self.key);
        mac.update(name.as_bytes());
        mac.update(&[0]);
        mac
    }

    fn warn(&self, what: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("the cache of compiled components failed to {what}");
        } else {
            tracing::debug!("the cache of compiled components failed to {what}");
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

fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let found = fs::symlink_metadata(dir)?;
    private(found.is_dir(), &found)
}

fn private(right_kind: bool, found: &fs::Metadata) -> io::Result<()> {
    let refused = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if !right_kind {
        return refused("it is of the wrong kind");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refused("it belongs to another user");
    }
    if found.mode() & 0o022 != 0 {
        return refused("others can write to it");
    }
    Ok(())
}

/// The key of this installation, made by whoever comes first.
fn key(dir: &Path) -> io::Result<[u8; 32]> {
    let path = dir.join(KEY);
    if let Err(error) = fs::symlink_metadata(&path) {
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        let mut fresh = [0; 32];
        getrandom::fill(&mut fresh).map_err(io::Error::other)?;
        let temporary = write_temporary(dir, KEY, &[&fresh])?;
        // A hard link fails if another process was faster; its key is then ours too.
        let linked = fs::hard_link(&temporary, &path);
        let _ = fs::remove_file(&temporary);
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let (mut file, size) = open(&path, 64)?;
    let mut key = [0; 32];
    if size != key.len() as u64 {
        return Err(io::Error::other("the key has the wrong length"));
    }
    file.read_exact(&mut key)?;
    Ok(key)
}

/// Opens a file of the folder, and says how long it is.
fn open(path: &Path, max: u64) -> io::Result<(File, u64)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let found = file.metadata()?;
    private(found.is_file(), &found)?;
    if found.len() > max {
        return Err(io::Error::other("it is too large"));
    }
    Ok((file, found.len()))
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
    let _ = fs::remove_file(&path);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(&path)?;
    let written = parts.iter().try_for_each(|part| file.write_all(part));
    match written {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests;

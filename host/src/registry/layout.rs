//! A folder in OCI's image layout: what a registry has, as files. Others write them too (skopeo, oras, cosign).

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use wharf_report::ShowPath as _;

use super::digest::Sha256;
use super::download::Download;
use super::error::RegistryError;
use super::manifest::{Descriptor, Document, INDEX, Index, MANIFEST, MAX_SIZE};
use super::reference::Repository;
use crate::json;
use crate::os::{files, lock};

const MARK: &str = "oci-layout";
const MARK_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX_FILE: &str = "index.json";
const BLOBS: &str = "blobs/sha256";
/// For the index, which another process has for some milliseconds.
const TURN: Duration = Duration::from_secs(10);
/// How an entry of the index is named: in files of others, often by its tag alone.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

pub struct Layout {
    folder: PathBuf,
    index: Index,
}

impl Layout {
    /// # Errors
    /// If the folder is no layout.
    pub fn open(folder: &Path) -> Result<Self, RegistryError> {
        let wrong = |why: String| RegistryError::Missing(format!("{} is no OCI layout: {why}", folder.shown()));
        let text = read_text(&folder.join(INDEX_FILE)).map_err(|error| wrong(format!("{INDEX_FILE}: {error}")))?;
        match Document::parse(text.as_bytes()).map_err(wrong)? {
            Document::Index(index) => Ok(Self { folder: folder.to_owned(), index }),
            Document::Manifest(_) => Err(RegistryError::Missing(format!("{} is no OCI layout", folder.shown()))),
        }
    }

    /// A layout to write to; created if it is missing.
    ///
    /// # Errors
    /// If it cannot be created, or is a folder of something else.
    pub fn create(folder: &Path) -> Result<Self, RegistryError> {
        if folder.join(INDEX_FILE).exists() {
            Self::open(folder)?;
        }
        // In this order: whoever creates a layout at the same time writes the mark before all else.
        let has_entries = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
        let is_layout = folder.join(MARK).exists() || folder.join(INDEX_FILE).exists();
        if has_entries && !is_layout {
            return Err(RegistryError::Missing(format!("{} is not empty, and no OCI layout", folder.shown())));
        }
        fs::create_dir_all(folder)?;
        let turn = turn(folder)?;
        fs::create_dir_all(folder.join(BLOBS))?;
        // What is written there would be written elsewhere.
        for part in [Path::new(BLOBS), Path::new("blobs")].map(|part| folder.join(part)) {
            if fs::symlink_metadata(&part)?.is_symlink() {
                return Err(RegistryError::Missing(format!("{} is a link, and no folder", part.shown())));
            }
        }
        if !folder.join(INDEX_FILE).exists() {
            Self { folder: folder.to_owned(), index: Index::default() }.write_index()?;
        }
        drop(turn);
        Self::open(folder)
    }

    fn blob_path(&self, digest: Sha256) -> PathBuf {
        self.folder.join(BLOBS).join(digest.hex())
    }

    /// The bytes of a blob, checked.
    pub(super) fn read(&self, digest: Sha256, what: &'static str, limit: u64) -> Result<Vec<u8>, RegistryError> {
        let path = self.blob_path(digest);
        let bytes = files::read(&path, limit)
            .map_err(|error| RegistryError::Missing(format!("read {what}: {error}: {}", path.shown())))?;
        if Sha256::of(&bytes) != digest {
            return Err(RegistryError::Changed(format!("{what} does not match its name: {}", path.shown())));
        }
        Ok(bytes)
    }

    /// What a tag or digest of a repository names.
    pub(super) fn manifest(
        &self,
        repository: &Repository,
        version: &str,
    ) -> Result<Option<(Vec<u8>, Sha256)>, RegistryError> {
        let digest = Sha256::parse(version);
        let whole = format!("{repository}:{version}");
        let named = |name: &str| {
            let mut entries = self.index.manifests.iter();
            entries.rfind(|entry| entry.annotations.get(REF_NAME).is_some_and(|own| own == name))
        };
        let entry = match digest {
            Some(digest) => return self.by_digest(digest),
            None => named(&whole).or_else(|| named(version)),
        };
        let Some(entry) = entry else { return Ok(None) };
        self.by_digest(entry.digest().map_err(RegistryError::protocol)?)
    }

    fn by_digest(&self, digest: Sha256) -> Result<Option<(Vec<u8>, Sha256)>, RegistryError> {
        if !self.blob_path(digest).exists() {
            return Ok(None);
        }
        Ok(Some((self.read(digest, "the manifest", MAX_SIZE)?, digest)))
    }

    /// Copies a blob into a file.
    pub(super) fn copy(&self, descriptor: &Descriptor, file: &Path) -> Result<(), RegistryError> {
        let digest = descriptor.digest().map_err(RegistryError::protocol)?;
        let bytes = self.read(digest, "the component", descriptor.size)?;
        let mut download = Download::open(file, digest, descriptor.size)?;
        download.restart()?;
        download.write(&bytes)?;
        if download.is_whole() {
            download.finish()
        } else {
            Err(RegistryError::Changed(format!("the component has fewer bytes than its manifest says: {digest}")))
        }
    }

    /// The manifests that refer to this one.
    pub(super) fn referrers(&self, digest: Sha256) -> Vec<Descriptor> {
        let refers = |entry: &&Descriptor| {
            let bytes = entry.digest().ok().and_then(|own| self.read(own, "a manifest", MAX_SIZE).ok());
            let document = bytes.and_then(|bytes| Document::parse(&bytes).ok());
            matches!(document, Some(Document::Manifest(manifest))
                if manifest.subject.as_ref().is_some_and(|subject| subject.digest == digest.to_string()))
        };
        self.index.manifests.iter().filter(refers).cloned().collect()
    }

    /// Writes a blob, unless exactly it is there.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), RegistryError> {
        let path = self.blob_path(Sha256::of(bytes));
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if is_file && files::read(&path, bytes.len() as u64).is_ok_and(|own| own == bytes) {
            return Ok(());
        }
        Ok(files::replace(&path, bytes)?)
    }

    /// Writes manifests, and names them by their versions: one process at a time. What had a tag before loses it, and stays.
    pub(super) fn add(&mut self, repository: &Repository, manifests: &[(&str, &[u8])]) -> Result<(), RegistryError> {
        for (_, bytes) in manifests {
            self.write(bytes)?;
        }
        let _turn = turn(&self.folder)?;
        // Others may have added to it.
        self.index = Self::open(&self.folder)?.index;
        for (version, bytes) in manifests {
            let media_type = match Document::parse(bytes).map_err(RegistryError::protocol)? {
                Document::Manifest(_) => MANIFEST,
                Document::Index(_) => INDEX,
            };
            let tag = Sha256::parse(version).is_none().then(|| format!("{repository}:{version}"));
            self.index.enter(Descriptor::of(media_type, bytes), tag);
        }
        self.write_index()
    }

    fn write_index(&self) -> Result<(), RegistryError> {
        let text = serde_json::to_vec(&self.index).map_err(|error| RegistryError::protocol(error.to_string()))?;
        Ok(files::replace(&self.folder.join(INDEX_FILE), &text)?)
    }
}

impl Index {
    /// Adds an entry with that name, or without one. Each entry is there once with each of its names, and without one
    /// only if it has none.
    fn enter(&mut self, mut entry: Descriptor, name: Option<String>) {
        for old in &mut self.manifests {
            if name.is_some() && old.annotations.get(REF_NAME) == name.as_ref() {
                old.annotations.remove(REF_NAME);
            }
        }
        entry.annotations.extend(name.map(|name| (REF_NAME.to_owned(), name)));
        self.manifests.push(entry);
        let named: BTreeSet<String> = self.manifests.iter().filter(|entry| is_named(entry)).map(digest_of).collect();
        let mut seen = BTreeSet::new();
        self.manifests
            .retain(|entry| is_named(entry) || (!named.contains(&entry.digest) && seen.insert(digest_of(entry))));
    }
}

fn is_named(entry: &Descriptor) -> bool {
    entry.annotations.contains_key(REF_NAME)
}

fn digest_of(entry: &Descriptor) -> String {
    entry.digest.clone()
}

/// Lets no other process change the index until it is dropped. Blocks.
fn turn(folder: &Path) -> io::Result<File> {
    let path = folder.join(MARK);
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    lock::lock(&file, TURN)?;
    if file.metadata()?.len() == 0 {
        file.write_all(MARK_TEXT.as_bytes())?;
    }
    Ok(file)
}

fn read_text(path: &Path) -> Result<String, files::FileError> {
    let text = files::read_text(path, MAX_SIZE)?;
    json::check(&text, json::MAX_DEPTH)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_writers_create_a_layout_at_the_same_time() {
        let all = tempfile::tempdir().expect("a folder");
        for round in 0..50 {
            let folder = all.path().join(round.to_string());
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| drop(Layout::create(&folder).expect("a layout")));
                }
            });
            assert_eq!(fs::read_to_string(folder.join(MARK)).expect("the mark"), MARK_TEXT);
        }
        assert!(Layout::create(all.path()).is_err(), "a folder of something else");
    }
}

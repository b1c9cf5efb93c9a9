//! A folder in OCI's image layout: what a registry has, as files. Others write them too (skopeo, oras, cosign).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wharf_report::ShowPath as _;

use super::digest::Sha256;
use super::download::Download;
use super::error::RegistryError;
use super::manifest::{Descriptor, Document, INDEX, Index, MANIFEST, MAX_SIZE};
use super::reference::Repository;
use crate::json;
use crate::os::files;

const MARK: &str = "oci-layout";
const MARK_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX_FILE: &str = "index.json";
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
            return Self::open(folder);
        }
        if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(RegistryError::Missing(format!("{} is not empty, and no OCI layout", folder.shown())));
        }
        fs::create_dir_all(folder.join("blobs/sha256"))?;
        files::replace(&folder.join(MARK), MARK_TEXT.as_bytes())?;
        let layout = Self { folder: folder.to_owned(), index: Index::default() };
        layout.write_index()?;
        Ok(layout)
    }

    fn blob_path(&self, digest: Sha256) -> PathBuf {
        self.folder.join("blobs/sha256").join(digest.hex())
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
        self.by_digest(entry.digest().map_err(RegistryError::Protocol)?)
    }

    fn by_digest(&self, digest: Sha256) -> Result<Option<(Vec<u8>, Sha256)>, RegistryError> {
        if !self.blob_path(digest).exists() {
            return Ok(None);
        }
        Ok(Some((self.read(digest, "the manifest", MAX_SIZE)?, digest)))
    }

    /// Copies a blob into a file.
    pub(super) fn copy(&self, descriptor: &Descriptor, file: &Path) -> Result<(), RegistryError> {
        let digest = descriptor.digest().map_err(RegistryError::Protocol)?;
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

    /// Writes a blob, unless it is there.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), RegistryError> {
        let path = self.blob_path(Sha256::of(bytes));
        if path.is_file() {
            return Ok(());
        }
        fs::create_dir_all(self.folder.join("blobs/sha256"))?;
        Ok(files::replace(&path, bytes)?)
    }

    /// Writes a manifest, and names it. What had the name loses it.
    pub(super) fn add(&mut self, repository: &Repository, version: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        self.write(bytes)?;
        let media_type = match Document::parse(bytes).map_err(RegistryError::Protocol)? {
            Document::Manifest(_) => MANIFEST,
            Document::Index(_) => INDEX,
        };
        let name = format!("{repository}:{version}");
        let is_named = Sha256::parse(version).is_none();
        let mut entry = Descriptor::of(media_type, bytes);
        self.index.manifests.retain(|old| {
            let has_name = is_named && old.annotations.get(REF_NAME) == Some(&name);
            let is_unnamed = old.digest == entry.digest && !old.annotations.contains_key(REF_NAME);
            !has_name && !is_unnamed
        });
        if is_named {
            entry.annotations.insert(REF_NAME.to_owned(), name);
        } else if self.index.manifests.iter().any(|old| old.digest == entry.digest) {
            return Ok(());
        }
        self.index.manifests.push(entry);
        self.write_index()
    }

    fn write_index(&self) -> Result<(), RegistryError> {
        let text = serde_json::to_vec(&self.index).map_err(|error| RegistryError::Protocol(error.to_string()))?;
        Ok(files::replace(&self.folder.join(INDEX_FILE), &text)?)
    }
}

fn read_text(path: &Path) -> Result<String, files::FileError> {
    let text = files::read_text(path, MAX_SIZE)?;
    json::check(&text, json::MAX_DEPTH)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    Ok(text)
}

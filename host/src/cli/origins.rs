//! The file `wharf.lock` of a plugin folder: which plugins are in it, and where they come from.
//!
//! It decides nothing: whether a version may run, pins say. `wharf sync` makes a folder equal to such a file, so that a
//! team can commit it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wharf_report::{InvalidToml, ShowPath as _, from_toml};

use super::wiring::lock_of_state;
use crate::os::files::{self, FileError, Replacement};
use crate::plugin::PluginId;
use crate::registry::{Reference, SCHEME, Sha256};
use crate::report::Failure;

pub(super) const FILE_NAME: &str = "wharf.lock";
const MAX_SIZE: u64 = 1 << 20;
/// As many as a server takes.
const MAX_PLUGINS: usize = crate::catalog::MAX_PLUGINS;
const FORMAT: u32 = 1;
/// Bytes of the name of a key.
const MAX_SIGNER: usize = 200;
/// In the folder of the pins, for all plugin folders.
const WRITER_LOCK: &str = "origins.turn";

const HEADER: &str = "\
# Where the plugins of this folder come from; written by wharf add, update, remove and sync.
# `wharf sync wharf.lock DIR` makes another folder equal to it.

";

/// The content of the file.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Origins {
    version: u32,
    #[serde(default)]
    pub(super) plugins: BTreeMap<String, Origin>,
}

/// Where a plugin comes from.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Origin {
    /// `oci://…` with its tag, or `https://…`.
    pub(super) source: String,
    /// The digest of the manifest, which the tag named then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Sha256>,
    /// The digest of the component's file.
    pub(super) component: Sha256,
    /// Who signed it, as far as it was checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signer: Option<String>,
}

impl Origin {
    /// Whether its signature is in a file beside it, by minisign, whose keys begin so.
    pub(super) fn is_signed_beside(&self) -> bool {
        self.signer.as_ref().is_some_and(|signer| signer.starts_with("RW"))
    }

    /// A source in a registry has a digest, and only one.
    fn check(&self) -> Result<(), String> {
        if self.signer.as_ref().is_some_and(|signer| signer.len() > MAX_SIGNER) {
            return Err(format!("its signer has more than {MAX_SIGNER} bytes"));
        }
        if !self.source.starts_with(SCHEME) {
            return Ok(());
        }
        let reference: Reference = self.source.parse().map_err(|error| format!("source: {error}"))?;
        let digest = self.digest.ok_or("it has no digest, which says what version its source named")?;
        match reference.digest {
            Some(other) if other != digest => Err(format!("its source names {other}, and its digest is {digest}")),
            _ => Ok(()),
        }
    }
}

/// The file, and its folder.
pub(super) struct OriginFile {
    path: PathBuf,
}

impl OriginFile {
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join(FILE_NAME) }
    }

    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// A missing file has no plugins.
    pub(super) fn read(&self) -> Result<Origins, Failure> {
        match files::read_text(&self.path, MAX_SIZE) {
            Err(FileError::System(error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Origins { version: FORMAT, ..Origins::default() })
            }
            Err(error) => Err(Failure::usage(format!("read {}: {error}", self.path.shown()))
                .hint("make it a text file that you may read, or move it away".to_owned())),
            Ok(text) => self.parse(&text),
        }
    }

    fn parse(&self, text: &str) -> Result<Origins, Failure> {
        let wrong = |place: &str, why: &str| {
            let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
            Failure::usage(format!("read {}: {place}{why}", self.path.shown()))
        };
        if text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")) {
            return Err(wrong("", "it has the marks of a merge conflict")
                .hint("keep the plugins that you want, and remove the marks".to_owned()));
        }
        let origins: Origins = from_toml(text)
            .map_err(|InvalidToml { place, reason, hint }| wrong(&place, &reason).hint(hint.map(|hint| hint.text)))?;
        if origins.version != FORMAT {
            return Err(wrong("", &format!("it has version {}, and this Wharf reads {FORMAT}", origins.version))
                .hint("update Wharf".to_owned()));
        }
        if origins.plugins.len() > MAX_PLUGINS {
            return Err(wrong("", &format!("it has more than {MAX_PLUGINS} plugins")));
        }
        for (name, origin) in &origins.plugins {
            PluginId::parse(name).map_err(|error| wrong("", &error.to_string()))?;
            origin.check().map_err(|why| wrong(&format!("plugins.{name}"), &why))?;
        }
        Ok(origins)
    }

    /// Changes the file as it is now, one process at a time: written, and not in place yet.
    pub(super) fn edit(&self, edit: impl FnOnce(&mut BTreeMap<String, Origin>)) -> Result<Edited, Failure> {
        let turn = lock_of_state(WRITER_LOCK, "the origins")?;
        let mut origins = self.read()?;
        edit(&mut origins.plugins);
        let failed = |why: String| Failure::new(format!("write {}: {why}; nothing was changed", self.path.shown()));
        let text = toml::to_string(&origins).map_err(|error| failed(error.to_string()))?;
        let written = Replacement::write(&self.path, format!("{HEADER}{text}").as_bytes());
        Ok(Edited {
            written: written.map_err(|error| failed(error.to_string()))?,
            path: self.path.clone(),
            _turn: turn,
        })
    }
}

/// The next content of the file. Until it is dropped, no other process changes the file.
pub(super) struct Edited {
    written: Replacement,
    path: PathBuf,
    _turn: Option<File>,
}

impl Edited {
    /// Puts it in place.
    pub(super) fn commit(self) -> Result<(), Failure> {
        self.written.commit().map_err(|error| Failure::new(format!("write {}: {error}", self.path.shown())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_back_and_refuses_what_is_no_origin() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = OriginFile::of(folder.path());
        assert!(file.read().expect("a missing file is empty").plugins.is_empty());
        let digest = Sha256::of(b"");
        let origin = Origin {
            source: "oci://ghcr.io/acme/weather:1".to_owned(),
            digest: Some(digest),
            component: digest,
            signer: None,
        };
        let edited = file.edit(|plugins| drop(plugins.insert("weather".to_owned(), origin.clone())));
        edited.and_then(Edited::commit).expect("it is written");
        assert_eq!(file.read().expect("it reads back").plugins["weather"], origin);
        for text in [
            "version = 2",
            "plugins = 5",
            &format!("version = 1\n[plugins.Weather]\nsource = 'x'\ncomponent = '{digest}'"),
            "version = 1\n[plugins.a]\nsource = 'x'\ncomponent = 'sha256:00'",
            &format!("version = 1\n[plugins.a]\nsource = 'x'\ncomponent = '{digest}'\ndigest = 'x'"),
            &format!("version = 1\n[plugins.a]\nsource = 'x'\ncomponent = '{digest}'\nmore = 1"),
            &format!("version = 1\n[plugins.a]\nsource = 'oci://a.b/c'\ncomponent = '{digest}'"),
            &format!("version = 1\n[plugins.a]\nsource = 'oci://a.b'\ncomponent = '{digest}'\ndigest = '{digest}'"),
            &format!(
                "version = 1\n[plugins.a]\nsource = 'oci://a.b/c@{}'\ncomponent = '{digest}'\ndigest = '{digest}'",
                Sha256::of(b"x")
            ),
            "<<<<<<< HEAD\nversion = 1\n=======\nversion = 1\n>>>>>>> other\n",
        ] {
            std::fs::write(folder.path().join(FILE_NAME), text).expect("a file");
            assert!(file.read().is_err(), "{text}");
        }
    }
}

//! `[record]`: a server keeps recordings of calls in a folder.

use std::path::PathBuf;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigPath, WrongValue};
use crate::plugin::{MAX_RECORDING, PluginId, RecordSettings, Retention};

/// Defaults of what is kept.
const KEEP: usize = 1000;
const KEEP_SIZE: ByteSize = ByteSize::gib(1);
/// The largest number of files: the folder is listed for each new one.
const MAX_KEEP: usize = 10_000;

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RecordConfig {
    /// May be relative to the folder of the configuration file. Unset: nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<ConfigPath>,
    /// The share of calls that are recorded, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<f64>,
    /// Whose calls; unset: those of all plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Vec<String>>,
    /// Bytes of one recording.
    #[serde(with = "super::size", skip_serializing_if = "Option::is_none")]
    pub max_size: Option<ByteSize>,
    /// Files that are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<usize>,
    /// Bytes of all files that are kept.
    #[serde(with = "super::size", skip_serializing_if = "Option::is_none")]
    pub keep_size: Option<ByteSize>,
}

impl RecordConfig {
    /// # Errors
    /// If nothing could be recorded so.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if let Some(sample) = self.sample.filter(|sample| !(0.0..=1.0).contains(sample)) {
            return Err(WrongValue::at(&["sample"], format!("must be from 0 to 1, found {sample}"))
                .hint("for one call of a hundred write sample = 0.01"));
        }
        if let Some(wrong) = self.plugins.iter().flatten().find(|name| PluginId::parse(name).is_err()) {
            return Err(WrongValue::at(&["plugins"], format!("is no name of a plugin: {wrong:?}"))
                .hint("write the names of files without .wasm: plugins = [\"notes\"]"));
        }
        let most = ByteSize::b(MAX_RECORDING as u64);
        if let Some(size) = self.max_size.filter(|size| *size > most || *size < ByteSize::kib(4)) {
            return Err(WrongValue::at(&["max-size"], format!("must be from 4 KiB to {most}, found {size}"))
                .hint("write it like this: max-size = \"4 MiB\""));
        }
        if let Some(keep) = self.keep.filter(|keep| !(1..=MAX_KEEP).contains(keep)) {
            return Err(WrongValue::at(&["keep"], format!("must be from 1 to {MAX_KEEP}, found {keep}"))
                .hint("write it like this: keep = 1000"));
        }
        Ok(())
    }
}

/// Where recordings are written, which, and how many are kept.
pub struct Recording {
    pub folder: PathBuf,
    pub settings: RecordSettings,
    pub retention: Retention,
}

impl Config {
    /// What is recorded; `None`: nothing.
    pub fn recording(&self) -> Option<Recording> {
        let own = &self.record;
        let settings = RecordSettings {
            sample: own.sample.unwrap_or(1.0),
            plugins: own.plugins.as_ref().map(|names| names.iter().cloned().collect()),
            max_size: own.max_size.map_or(MAX_RECORDING, |size| size.as_u64() as usize),
        };
        let retention =
            Retention { files: own.keep.unwrap_or(KEEP), bytes: own.keep_size.unwrap_or(KEEP_SIZE).as_u64() };
        Some(Recording { folder: self.resolve(own.folder.as_ref()?), settings, retention })
    }
}

//! `[audit]`: the audit log.

use std::path::PathBuf;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, base, plain_size};
use crate::audit::AuditSettings;

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AuditConfig {
    /// `true`: nothing is served without a record. Unset: the log is used if it can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// May be relative to the folder of the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Keep arguments and results, not only their sizes and hashes.
    pub bodies: bool,
    /// Bytes at which a file is rotated.
    #[serde(serialize_with = "plain_size")]
    pub rotate_size: ByteSize,
    /// Files that are kept, including the current one.
    pub rotate_files: u32,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self { enabled: None, path: None, bodies: false, rotate_size: ByteSize::mib(64), rotate_files: 8 }
    }
}

impl AuditConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |reason: &str| Err(ConfigError::new(format!("audit.{reason}"), None));
        if self.rotate_files < 2 {
            return wrong("rotate-files: must be at least 2");
        }
        if self.rotate_size < ByteSize::kib(64) {
            return wrong("rotate-size: must be at least 64KiB");
        }
        Ok(())
    }
}

impl Config {
    /// The settings of the log; `None` if there is neither a path nor a home folder.
    pub fn audit(&self) -> Option<AuditSettings> {
        let audit = &self.audit;
        let path = match &audit.path {
            Some(path) => self.resolve(path),
            None => base()?.state.join("audit.jsonl"),
        };
        let (size, files) = (audit.rotate_size.as_u64(), audit.rotate_files);
        let required = audit.enabled == Some(true);
        Some(AuditSettings { path, bodies: audit.bodies, size, files, required })
    }
}

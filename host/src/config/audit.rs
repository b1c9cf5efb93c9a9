//! `[audit]`: the audit log.

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigPath, WrongValue, base};
use crate::audit::AuditSettings;

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AuditConfig {
    /// `true`: nothing is served without a record. Unset: the log is used if it can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// May be relative to the folder of the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<ConfigPath>,
    /// Keep arguments and results, not only their sizes and hashes.
    pub bodies: bool,
    /// Bytes at which a file is rotated.
    #[serde(with = "super::size")]
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
    /// # Errors
    /// If a number is too small.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if self.rotate_files < 2 {
            let why = format!("must be at least 2, found {}", self.rotate_files);
            return Err(WrongValue::at(&["rotate-files"], why).hint("write it like this: rotate-files = 8"));
        }
        if self.rotate_size < ByteSize::kib(64) {
            let why = format!("must be at least 64 KiB, found {}", self.rotate_size);
            return Err(WrongValue::at(&["rotate-size"], why).hint("write it like this: rotate-size = \"64 MiB\""));
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

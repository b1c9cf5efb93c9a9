//! The syntax of granted folders, and their paths.
//!
//! Checks only whether a folder exists; the rest is checked when a plugin is loaded.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::Config;
use crate::os::stamp::FolderState;
use crate::plugin::{FolderGrant, FolderMode};

/// One entry of `fs`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FolderConfig {
    /// Absolute, relative to the configuration file's folder, or to the home folder with `~/`.
    pub host: PathBuf,
    /// The absolute path under which the plugin sees it.
    pub guest: String,
    #[serde(default)]
    pub mode: FolderModeConfig,
    /// Total bytes that a writable folder may hold.
    #[serde(default, serialize_with = "super::plain_size", skip_serializing_if = "Option::is_none")]
    pub quota: Option<ByteSize>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FolderModeConfig {
    #[default]
    Read,
    Write,
}

impl FolderConfig {
    /// # Errors
    /// If an entry is invalid.
    pub(super) fn check(folders: &[Self]) -> Result<(), String> {
        for (at, folder) in folders.iter().enumerate() {
            let guest = &folder.guest;
            let is_normal = |path: &str| {
                path.strip_prefix('/')
                    .is_some_and(|rest| rest.is_empty() || rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
            };
            if !is_normal(guest) {
                return Err(format!("guest must be an absolute path without '.', '..' or a trailing '/': {guest:?}"));
            }
            if folders[..at].iter().any(|other| other.guest == *guest) {
                return Err(format!("two folders have the same guest path: {guest:?}"));
            }
            if folder.host.as_os_str().is_empty() {
                return Err("host must be the path of a folder: \"\"".into());
            }
            if folder.quota.is_some() && folder.mode == FolderModeConfig::Read {
                return Err(format!("a read-only folder has no quota: {guest:?}"));
            }
        }
        Ok(())
    }

    pub(super) fn grant(&self, config: &Config) -> FolderGrant {
        let quota = self.quota.map_or(FolderGrant::QUOTA, |quota| quota.as_u64());
        let mode = match self.mode {
            FolderModeConfig::Read => FolderMode::Read,
            FolderModeConfig::Write => FolderMode::Write { quota },
        };
        let host = resolve(&self.host, config);
        let found = FolderState::of(&host);
        FolderGrant { host, guest: self.guest.clone(), mode, found }
    }
}

impl Config {
    /// The granted folders that do not exist.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let granted = self.plugins.values().flat_map(|plugin| &plugin.grants.fs);
        granted.map(|folder| resolve(&folder.host, self)).filter(|folder| !folder.is_dir()).collect()
    }
}

fn resolve(path: &Path, config: &Config) -> PathBuf {
    match (path.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(below), Ok(home)) => home.join(below),
        _ => config.resolve(path),
    }
}

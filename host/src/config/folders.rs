//! The syntax of granted folders, and their paths.
//!
//! Checks only whether a folder exists; the rest is checked when a plugin is loaded.

use std::collections::HashSet;
use std::path::PathBuf;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::source::PerConfig;
use super::{Config, ConfigPath, WrongValue};
use crate::os::stamp::FolderState;
use crate::plugin::{FolderGrant, FolderMode};

/// Maximum folders of each user in one plugin: they are open for many users at a time.
const MOST_PERSONAL: usize = 4;

/// One entry of `fs`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FolderConfig {
    /// Absolute, relative to the configuration file's folder, or to the home folder with `~/`.
    pub host: ConfigPath,
    /// The absolute path under which the plugin sees it.
    pub guest: String,
    #[serde(default)]
    pub mode: FolderModeConfig,
    /// Total bytes that a writable folder may hold.
    #[serde(default, with = "super::size", skip_serializing_if = "Option::is_none")]
    pub quota: Option<ByteSize>,
    /// Whether all users share it, or each has a folder of their own in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<PerConfig>,
    /// Total bytes of all users together, if each has their own.
    #[serde(default, with = "super::size", skip_serializing_if = "Option::is_none")]
    pub total: Option<ByteSize>,
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
    pub(super) fn check(folders: &[Self]) -> Result<(), WrongValue> {
        for (at, folder) in folders.iter().enumerate() {
            let guest = &folder.guest;
            let number = at.to_string();
            let wrong = |key, why: String, hint: &str| Err(WrongValue::at(&["fs", &number, key], why).hint(hint));
            let is_normal = |path: &str| {
                path.strip_prefix('/')
                    .is_some_and(|rest| rest.is_empty() || rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
            };
            if !is_normal(guest) {
                let why = format!("must be an absolute path without '.', '..' or a trailing '/', found {guest:?}");
                return wrong("guest", why, "write it like this: guest = \"/data\"");
            }
            if folders[..at].iter().any(|other| other.guest == *guest) {
                let why = format!("two folders have the same path in the plugin: {guest:?}");
                return wrong("guest", why, "give each a path of its own");
            }
            if folder.host.as_os_str().is_empty() {
                let why = "must be the path of a folder, found \"\"".to_owned();
                return wrong("host", why, "write it like this: host = \"./data\"");
            }
            if folder.quota.is_some() && folder.mode == FolderModeConfig::Read {
                let why = format!("a folder that is only read has no quota: {guest:?}");
                return wrong("quota", why, "remove it, or add mode = \"write\"");
            }
            if folder.total.is_some() && (folder.per.is_none() || folder.mode == FolderModeConfig::Read) {
                let why = format!("is for folders of users that can be written: {guest:?}");
                return wrong("total", why, "add per = \"subject\" and mode = \"write\", or write quota");
            }
        }
        Self::check_personal([].iter(), folders)
    }

    /// # Errors
    /// If the folders of each user are too many with those that were granted before.
    pub(super) fn check_personal<'a>(
        before: impl Iterator<Item = &'a Self>,
        folders: &'a [Self],
    ) -> Result<(), WrongValue> {
        let mut guests: HashSet<&str> =
            before.filter(|folder| folder.per.is_some()).map(|folder| folder.guest.as_str()).collect();
        for (at, folder) in folders.iter().enumerate().filter(|(_, folder)| folder.per.is_some()) {
            guests.insert(&folder.guest);
            if guests.len() > MOST_PERSONAL {
                let why = format!("a plugin may have at most {MOST_PERSONAL} folders of each user");
                return Err(
                    WrongValue::at(&["fs", &at.to_string(), "per"], why).hint("grant a folder that contains them")
                );
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
        let host = config.resolve(&self.host);
        let found = FolderState::of(&host);
        let total = || self.total.map_or(FolderGrant::TOTAL, |total| total.as_u64());
        let per_subject = self.per.map(|PerConfig::Subject| total());
        FolderGrant { host, guest: self.guest.clone(), mode, per_subject, found }
    }
}

impl Config {
    /// The granted folders that do not exist.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let granted = self.all_grants().flat_map(|(_, grants)| &grants.fs);
        granted.map(|folder| self.resolve(&folder.host)).filter(|folder| !folder.is_dir()).collect()
    }
}

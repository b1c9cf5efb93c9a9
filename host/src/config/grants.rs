//! The grants of a plugin in the configuration file.
//!
//! A missing grant is denied; what a grant allows is defined in `plugin`.

use std::collections::{BTreeMap, BTreeSet};

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::{Config, FolderConfig, HttpEntry};
use crate::plugin::{Grants, HttpGrant, KeyvalueGrant, Secret};

/// `[plugins.NAME.grants]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GrantsConfig {
    /// To keep values between calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyvalue: Option<KeyvalueConfig>,
    /// To send HTTP requests there. Only defaults are ever written, and by default there is none.
    #[serde(skip_serializing)]
    pub http: Vec<HttpEntry>,
    /// To read these of `[secrets]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// To put questions to the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elicit: bool,
    /// To ask the client's model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// To ask which folders the user works in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// Folders of this machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fs: Vec<FolderConfig>,
    /// Its environment variables: the host's own are not inherited.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its values in `wasi:config`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// To change its lists at any time, although it holds grants.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub change_lists: bool,
}

/// The grant in short form, or with options.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged, expecting = "keyvalue is true, false or { quota = \"4MiB\" }")]
pub enum KeyvalueConfig {
    Short(bool),
    Long(KeyvalueLimits),
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyvalueLimits {
    /// Bytes of all keys and values together.
    #[serde(default, serialize_with = "super::plain_size", skip_serializing_if = "Option::is_none")]
    pub quota: Option<ByteSize>,
}

impl GrantsConfig {
    /// What is wrong with it syntactically.
    pub(super) fn check(&self) -> Result<(), String> {
        let named = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) = self.env.keys().find(|name| !named(name)) {
            return Err(format!("env: not a valid variable name: {name:?}"));
        }
        FolderConfig::check(&self.fs).map_err(|why| format!("fs: {why}"))
    }

    /// The grants for the sandbox; `place` is where more could be granted.
    pub(super) fn grants(&self, config: &Config, place: String) -> Grants {
        let is_own = |name: &str| self.secrets.iter().any(|own| own == name);
        let read = |name: &str| Secret::new(name.to_owned(), is_own(name), config.secret(name));
        Grants {
            keyvalue: self.keyvalue(),
            http: self.http.iter().map(|entry| entry.0.clone()).collect(),
            secrets: self.needed_secrets().into_iter().map(read).collect(),
            elicit: self.elicit,
            sample: self.sample,
            roots: self.roots,
            folders: self.fs.iter().map(|folder| folder.grant(config)).collect(),
            // Private files matter only to plugins with folders.
            private: if self.fs.is_empty() { Vec::new() } else { config.private_files() },
            env: self.env.clone().into_iter().collect(),
            config: self.config.clone().into_iter().collect(),
            place,
        }
    }

    /// The secrets that it names, each once.
    pub(super) fn needed_secrets(&self) -> BTreeSet<&str> {
        let http = self.http.iter().flat_map(|entry| HttpGrant::secrets(&entry.0));
        self.secrets.iter().map(String::as_str).chain(http).collect()
    }

    fn keyvalue(&self) -> Option<KeyvalueGrant> {
        let quota = match self.keyvalue.as_ref()? {
            KeyvalueConfig::Short(false) => return None,
            KeyvalueConfig::Short(true) => None,
            KeyvalueConfig::Long(limits) => limits.quota,
        };
        Some(KeyvalueGrant { quota: quota.map_or(KeyvalueGrant::QUOTA, |quota| quota.as_u64()) })
    }
}

//! What the file grants a plugin beside computing.
//!
//! A grant that is not written is denied; what a grant allows is in `plugin`.

use std::collections::BTreeSet;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::HttpEntry;
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
}

/// The grant in short, or with what it allows.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(untagged, expecting = "keyvalue is true, false or { quota = \"4MiB\" }")]
pub enum KeyvalueConfig {
    Short(bool),
    Long(KeyvalueLimits),
}

#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyvalueLimits {
    /// Of all keys and values together.
    #[serde(default, serialize_with = "super::plain_size", skip_serializing_if = "Option::is_none")]
    pub quota: Option<ByteSize>,
}

impl GrantsConfig {
    /// What the sandbox is told; `place` is where more could be granted, `secret` reads one.
    pub(super) fn grants(&self, place: String, secret: impl Fn(&str) -> Result<String, String>) -> Grants {
        let read = |name: &str| Secret::new(name.to_owned(), self.secrets.iter().any(|own| own == name), secret(name));
        Grants {
            keyvalue: self.keyvalue(),
            http: self.http.iter().map(|entry| entry.0.clone()).collect(),
            secrets: self.needed_secrets().into_iter().map(read).collect(),
            elicit: self.elicit,
            sample: self.sample,
            roots: self.roots,
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

//! What the file grants a plugin beside computing.
//!
//! A grant that is not written is denied; what a grant allows is in `plugin`.

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use crate::plugin::{Grants, KeyvalueGrant};

/// `[plugins.NAME.grants]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GrantsConfig {
    /// To keep values between calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyvalue: Option<KeyvalueConfig>,
    /// To put questions to the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elicit: bool,
    /// To ask the client's model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sample: bool,
    /// To ask which folders the user works in.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// To say other things of itself whenever it is asked, although it holds grants.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub change_lists: bool,
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
    /// What the sandbox is told; `place` is where more could be granted.
    pub(super) fn grants(&self, place: String) -> Grants {
        Grants { keyvalue: self.keyvalue(), elicit: self.elicit, sample: self.sample, roots: self.roots, place }
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

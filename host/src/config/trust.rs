//! The trust settings in the file: the trust level, pins, and trusted signers.
//!
//! The rules themselves are in `pins`.

use serde::{Deserialize, Serialize};

use super::{Config, WrongValue};
use crate::pins::{Rules, Trust};
use crate::plugin::{Digest, PluginId, Signatures};

/// `server.trust`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum TrustConfig {
    Dev,
    Default,
    Strict,
}

/// `[signatures]`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SignaturesConfig {
    /// Public keys of minisign, one line each.
    pub keys: Vec<String>,
    /// Whether unsigned plugins are refused.
    pub required: bool,
}

impl From<TrustConfig> for Trust {
    fn from(trust: TrustConfig) -> Self {
        match trust {
            TrustConfig::Dev => Self::Dev,
            TrustConfig::Default => Self::Default,
            TrustConfig::Strict => Self::Strict,
        }
    }
}

impl Config {
    /// The trust level; `remote`: whether the server listens on a non-loopback address.
    pub fn trust(&self, remote: bool) -> Trust {
        let unset = if remote { Trust::Strict } else { Trust::Default };
        self.server.trust.map_or(unset, Trust::from)
    }

    /// The trust rules of one plugin.
    pub fn rules(&self, id: &PluginId, trust: Trust) -> Rules {
        let own = self.plugins.get(id.as_ref());
        let configured_pin = own.and_then(|own| own.pin.as_deref()).and_then(Digest::parse);
        Rules { trust, configured_pin, surface_may_change: self.may_change_lists(id), is_skill: id.is_skill() }
    }

    /// Whether a plugin in service may change its descriptions.
    pub fn may_change_lists(&self, id: &PluginId) -> bool {
        self.plugins.get(id.as_ref()).is_some_and(|own| own.grants.change_lists)
    }

    /// The trusted signers. The keys were validated when the file was read.
    pub fn signatures(&self) -> Signatures {
        Signatures::new(&self.signatures.keys, self.signatures.required).unwrap_or_default()
    }

    /// # Errors
    /// If a pin or a key is malformed, or keys are required and there are none.
    pub(super) fn check_trust(&self) -> Result<(), WrongValue> {
        for (name, plugin) in &self.plugins {
            if let Some(pin) = plugin.pin.as_ref().filter(|pin| Digest::parse(pin).is_none()) {
                return Err(WrongValue::at(&["plugins", name, "pin"], format!("not a hash: {pin:?}"))
                    .hint(format!(
                        "remove it, then copy the hash of the file from `wharf status --json`, as it is there: \"content\" in \
                         the \"file\" of {name}"
                    )));
            }
        }
        if let Err(key) = Signatures::new(&self.signatures.keys, false) {
            return Err(WrongValue::at(&["signatures", "keys"], format!("not a public key of minisign: {key:?}"))
                .hint("write the second line of minisign.pub, which begins with RW"));
        }
        if self.signatures.required && self.signatures.keys.is_empty() {
            return Err(WrongValue::at(&["signatures", "required"], "there are no keys")
                .hint("set signatures.keys, or no plugin can be loaded"));
        }
        Ok(())
    }
}

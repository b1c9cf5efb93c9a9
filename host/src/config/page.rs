//! `[page]`: where operators find the live page of the server.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, SecretConfig, WrongValue, address};

/// Minimum characters of a token: 128 bits in hexadecimal. Who has it may call every tool.
const MIN_TOKEN: usize = 32;
/// Whether this build has the page.
const SUPPORTED: bool = cfg!(feature = "page");

#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PageConfig {
    /// Where the page is; unset: nowhere, unless `wharf serve --page` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What opens it, in place of a token that is drawn at each start; required unless the address is of this machine
    /// alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretConfig>,
}

impl PageConfig {
    /// # Errors
    /// If the address is none, or others could open the page without a token that lasts.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        if let Some(token) = &self.token {
            token.check("token", "PAGE_TOKEN", "page-token")?;
        }
        let Some(text) = &self.address else { return Ok(()) };
        if !SUPPORTED {
            return Err(WrongValue::at(&["address"], "this build has no page")
                .hint("build it with the feature page, or remove it"));
        }
        self.checked(text).map(drop).map_err(|(why, hint)| WrongValue::at(&["address"], why).hint(hint))
    }

    /// The address in a text.
    ///
    /// # Errors
    /// What is wrong with it, and what to write.
    pub fn checked(&self, text: &str) -> Result<SocketAddr, (String, String)> {
        address::operators(text, "page", "127.0.0.1:9480", self.token.is_some())
    }
}

impl Config {
    /// The token that opens the page, if one is configured.
    ///
    /// # Errors
    /// If it cannot be read, or is too short.
    pub fn page_token(&self) -> Result<Option<String>, ConfigError> {
        self.page.token.as_ref().map(|token| token.read(self, "page.token: the token", MIN_TOKEN)).transpose()
    }
}

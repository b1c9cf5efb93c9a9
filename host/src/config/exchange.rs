//! Secrets that are tokens in the name of each user, for which their own are exchanged (RFC 8693).
//!
//! Checks the syntax only; `oauth` exchanges tokens.

use serde::{Deserialize, Serialize};

use super::address::{is_fetched, is_text};
use super::oauth::is_scope;
use super::{Config, ConfigError, SecretConfig, WrongValue};

/// `[secrets] NAME = { exchange = … }`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExchangeConfig {
    pub client_id: String,
    pub client_secret: SecretConfig,
    /// Whose users' tokens are exchanged, if there are several issuers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Where, if the issuer's metadata does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// For which service, as the issuer calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
    /// The service's URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// What the tokens are to allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

impl ExchangeConfig {
    /// # Errors
    /// If a value is malformed, or it is not clear whose tokens are meant.
    pub(super) fn check(&self, config: &Config) -> Result<(), WrongValue> {
        let wrong = |key: &str, why: String, hint: &str| Err(WrongValue::at(&[key], why).hint(hint));
        let issuers = config.issuers();
        let known = issuers.join(", ");
        match &self.issuer {
            _ if issuers.is_empty() => {
                let why = "users have no tokens without server.http.oauth".to_owned();
                return Err(
                    WrongValue::at(&[], why).hint("configure [server.http.oauth], or name a file or a variable")
                );
            }
            None if issuers.len() > 1 => {
                let why = "must say which of several issuers".to_owned();
                return Err(WrongValue::at(&[], why).hint(format!("add issuer; configured are: {known}")));
            }
            Some(issuer) if !issuers.contains(&issuer.as_str()) => {
                let why = format!("there is no such issuer: {issuer:?}");
                return wrong("issuer", why, &format!("configured are: {known}"));
            }
            _ => {}
        }
        if !is_text(&self.client_id) {
            return wrong(
                "client-id",
                "must have 1 to 512 bytes".into(),
                "write the client that the issuer knows this server as",
            );
        }
        self.client_secret.check("client-secret", "CLIENT_SECRET", "client-secret")?;
        if let Some(uri) = self.endpoint.as_ref().filter(|uri| !is_fetched(uri)) {
            let hint = "http is for this machine only; write it like this: \"https://login.example/token\"";
            return wrong("endpoint", format!("not an https URI: {uri:?}"), hint);
        }
        for (key, text) in [("audience", &self.audience), ("resource", &self.resource)] {
            if text.as_ref().is_some_and(|text| !is_text(text)) {
                return wrong(key, "must have 1 to 512 bytes".into(), "omit it, or write it as the issuer does");
            }
        }
        match &self.scope {
            Some(scope) if !scope.split(' ').all(is_scope) => wrong(
                "scope",
                format!("not scopes: {scope:?}"),
                "write them with one blank between: \"notes:read notes:write\"",
            ),
            _ => Ok(()),
        }
    }

    /// Whose users' tokens are exchanged.
    pub fn issuer<'a>(&'a self, config: &'a Config) -> &'a str {
        self.issuer.as_deref().or_else(|| config.issuers().first().copied()).unwrap_or_default()
    }

    /// Reads the client's secret.
    ///
    /// # Errors
    /// If it is missing or malformed.
    pub fn read_secret(&self, config: &Config) -> Result<String, ConfigError> {
        self.client_secret.read(config, &format!("the client secret of {:?}", self.client_id), 1)
    }
}

impl Config {
    /// The exchange that a secret is.
    pub fn exchange(&self, name: &str) -> Option<&ExchangeConfig> {
        self.secrets.get(name)?.exchange.as_ref()
    }

    /// Whether something is to be had for users' tokens.
    pub fn has_exchanges(&self) -> bool {
        self.secrets.values().any(|secret| secret.exchange.is_some())
    }

    /// # Errors
    /// If a plugin could read a user's token.
    pub(super) fn check_exchanges(&self) -> Result<(), WrongValue> {
        for (above, own) in self.all_grants() {
            let is_readable = |keys: &[String]| keys.first().is_some_and(|key| key != "http");
            let mut named = own.named_secrets().filter(|(keys, _)| is_readable(keys));
            if let Some((keys, name)) = named.find(|(_, name)| self.exchange(name).is_some()) {
                let why = format!("{name:?} is a token of the user, which no plugin gets");
                let hint = "name it in the headers of an entry of http";
                let wrong = WrongValue { keys, why, hint: Some(hint.into()) };
                let above: Vec<&str> = above.iter().map(String::as_str).collect();
                return Err(wrong.below(&above));
            }
        }
        Ok(())
    }

    /// The issuers whose tokens a server with this configuration accepts.
    pub fn issuers(&self) -> Vec<&str> {
        self.server.http.oauth.iter().flat_map(|oauth| &oauth.issuers).map(|issuer| &*issuer.issuer).collect()
    }
}

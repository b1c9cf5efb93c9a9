//! The HTTP settings in the file: listen address, authentication and limits.
//!
//! Checks the syntax only; `transport` uses the values.

use std::time::Duration;

use http::Uri;
use http::uri::Authority;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, ConfigPath, NodesConfig, OAuthConfig, SecretConfig, ServerCardConfig, WrongValue};
use crate::os::sockets::Address;

/// Minimum characters of a token; 128 bits take 32 in hexadecimal and 22 in base64.
const MIN_TOKEN: usize = 16;

/// `[server.http]`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HttpConfig {
    /// The listen address; unset: serve on stdin and stdout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Accepted values of `Host` besides the loopback names.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may use the server.
    pub allowed_origins: Vec<String>,
    /// Bearer tokens; if empty, and without `oauth`, anyone who can connect may use the server.
    pub tokens: Vec<TokenConfig>,
    /// Access tokens of these authorization servers are accepted too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OAuthConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
    /// Tell anyone who asks where the server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_card: Option<ServerCardConfig>,
    /// Where the other nodes of one server find this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodesConfig>,
    /// Also serve HTTP+SSE, the transport of revision 2024-11-05.
    pub sse: bool,
    /// Close a stream whose response takes longer; clients of 2025-11-25 reconnect for it.
    #[serde(with = "super::duration", skip_serializing_if = "Option::is_none")]
    pub poll_after: Option<Duration>,
    /// Timeout for a request's headers, and for an idle connection.
    #[serde(with = "super::duration")]
    pub header_timeout: Duration,
    /// Timeout for a request's body.
    #[serde(with = "super::duration")]
    pub body_timeout: Duration,
    /// Timeout for a client that does not read what is written.
    #[serde(with = "super::duration")]
    pub write_timeout: Duration,
    /// Maximum concurrent connections.
    pub connections: usize,
    /// Maximum concurrent connections from one address.
    pub connections_per_address: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            address: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            tokens: Vec::new(),
            oauth: None,
            tls: None,
            server_card: None,
            nodes: None,
            sse: false,
            poll_after: None,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            connections: 512,
            connections_per_address: 64,
        }
    }
}

/// The source of a token, which is never in the file itself.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenConfig {
    /// The principal's name.
    pub name: String,
    /// An environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// A file that contains only the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ConfigPath>,
}

/// PEM files.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsConfig {
    /// The server's certificate chain.
    pub cert: ConfigPath,
    pub key: ConfigPath,
}

impl HttpConfig {
    /// The address in the server's card, if there is to be one.
    pub fn server_card_url(&self) -> Option<&str> {
        let own = self.server_card.as_ref()?.url.as_deref();
        own.or_else(|| self.oauth.as_ref().map(|oauth| oauth.resource.as_str()))
    }

    /// # Errors
    /// If the address or a name is malformed, a token has not exactly one source, or a limit is zero;
    /// of `oauth`, as [`OAuthConfig::check`].
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        let wrong = |keys: &[&str], why: String, hint: &str| Err(WrongValue::at(keys, why).hint(hint));
        if let Some(address) = &self.address
            && let Err(why) = address.parse::<Address>()
        {
            return wrong(&["address"], why, &Address::advice(address));
        }
        for (at, host) in self.allowed_hosts.iter().enumerate() {
            if host.contains('@') || host.parse::<Authority>().is_err() {
                let hint = "write it as in the Host header: \"tools.example\" or \"tools.example:8443\"";
                return wrong(&["allowed-hosts", &at.to_string()], format!("not a host: {host:?}"), hint);
            }
        }
        for (at, origin) in self.allowed_origins.iter().enumerate() {
            if !is_origin(origin) {
                let hint = "write it as in the Origin header, without a path: \"https://app.example\"";
                return wrong(&["allowed-origins", &at.to_string()], format!("not an origin: {origin:?}"), hint);
            }
        }
        for (at, token) in self.tokens.iter().enumerate() {
            if token.name.is_empty() || !token.secret().has_one_source() {
                let hint = "write { name = \"ci\", env = \"WHARF_TOKEN\" } or { name = \"ci\", file = \"token\" }";
                let why = format!("{:?} needs a name, and either env or file", token.name);
                return wrong(&["tokens", &at.to_string()], why, hint);
            }
            // Names of OAuth's users are issuer and subject: nobody may be called like one of them.
            if token.name == "local" {
                let why = "a name must not be \"local\", which is who needs no token".to_owned();
                return wrong(&["tokens", &at.to_string(), "name"], why, "choose another one");
            }
            if token.name.contains("://") {
                let why = format!("a name must not contain \"://\": {:?}", token.name);
                return wrong(&["tokens", &at.to_string(), "name"], why, "write a plain name: \"ci\"");
            }
        }
        if let Some(oauth) = &self.oauth {
            oauth.check().map_err(|wrong| wrong.below(&["oauth"]))?;
        }
        let limits = [
            ("header-timeout", self.header_timeout.is_zero()),
            ("body-timeout", self.body_timeout.is_zero()),
            ("write-timeout", self.write_timeout.is_zero()),
            ("connections", self.connections == 0),
            ("connections-per-address", self.connections_per_address == 0),
        ];
        if let Some((key, _)) = limits.iter().find(|(_, is_zero)| *is_zero) {
            return wrong(&[key], "must be more than 0".into(), "omit it for the default");
        }
        Ok(())
    }
}

impl Config {
    /// Reads all tokens, with their names.
    ///
    /// # Errors
    /// If one is missing or too short, or two are the same: whose request it is would be decided by their order.
    pub fn tokens(&self) -> Result<Vec<(&str, String)>, ConfigError> {
        let mut all: Vec<(&str, String)> = Vec::new();
        for token in &self.server.http.tokens {
            let value = token.read(self)?;
            if let Some((other, _)) = all.iter().find(|(_, known)| *known == value) {
                let why = format!("server.http.tokens: {other:?} and {:?} have the same token", token.name);
                let hint = "give each a token of its own; this prints one: openssl rand -hex 32";
                return Err(ConfigError::new(why, Some(hint.into())));
            }
            all.push((&token.name, value));
        }
        Ok(all)
    }
}

impl TokenConfig {
    /// Reads the token.
    ///
    /// # Errors
    /// If it is missing or too short.
    pub fn read(&self, config: &Config) -> Result<String, ConfigError> {
        let what = format!("server.http.tokens: the token of {:?}", self.name);
        self.secret().read(config, &what, MIN_TOKEN)
    }

    fn secret(&self) -> SecretConfig {
        SecretConfig { env: self.env.clone(), file: self.file.clone() }
    }
}

/// Whether a text is a scheme, a host and an optional port, and nothing else.
fn is_origin(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return false };
    !text.contains('@') && text.eq_ignore_ascii_case(&format!("{scheme}://{authority}"))
}

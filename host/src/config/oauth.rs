//! `[server.http.oauth]`: whose access tokens the server accepts.
//!
//! Checks the syntax only; `oauth` verifies tokens.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::{MAX_TEXT, check_address, is_fetched, is_text, web_uri};
use super::{Config, ConfigError, SecretConfig, WrongValue};

/// Maximum issuers, and entries of each list.
const MAX_ENTRIES: usize = 16;
/// How long keys are used that could not be fetched again.
const KEEP_KEYS: Duration = Duration::from_secs(24 * 60 * 60);

/// `[server.http.oauth]`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OAuthConfig {
    /// The canonical URI of this server (RFC 8707): what clients are given as its address.
    pub resource: String,
    /// The authorization servers whose tokens are accepted.
    pub issuers: Vec<IssuerConfig>,
    /// Required of every request.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Shown to people by clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// A page for developers of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// Serve the issuer's own metadata too, for clients of 2025-03-26.
    #[serde(default)]
    pub legacy_metadata: bool,
}

/// One authorization server.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IssuerConfig {
    /// Byte for byte as in its tokens.
    pub issuer: String,
    /// Accepted audiences besides `resource`.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// Its keys, if its metadata does not say where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The claim that identifies the user.
    #[serde(default = "subject_claim")]
    pub subject_claim: String,
    /// A claim with scopes besides `scope` and `scp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_claim: Option<String>,
    /// What clients put before the scopes of this issuer, and its tokens do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_prefix: Option<String>,
    /// The claim with groups or roles; dots lead into objects.
    #[serde(default = "groups_claim")]
    pub groups_claim: String,
    /// How long its keys are used while it cannot be reached.
    #[serde(default = "keep_keys", with = "super::duration")]
    pub keep_keys: Duration,
    /// For tokens that are not JWTs (RFC 7662).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection: Option<IntrospectionConfig>,
}

/// How this server asks an issuer about a token.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IntrospectionConfig {
    pub client_id: String,
    pub client_secret: SecretConfig,
    /// Its address, if the issuer's metadata does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Whether the issuer does not say what kind of token it is, so that refresh tokens are accepted too.
    #[serde(default)]
    pub untyped: bool,
}

fn subject_claim() -> String {
    "sub".into()
}

fn groups_claim() -> String {
    "groups".into()
}

fn keep_keys() -> Duration {
    KEEP_KEYS
}

impl OAuthConfig {
    /// # Errors
    /// If a URI, a scope or a claim is malformed, there are no or too many issuers, or a secret has not
    /// exactly one source.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        let wrong = |keys: &[&str], why: String, hint: &str| Err(WrongValue::at(keys, why).hint(hint));
        check_address("resource", &self.resource)?;
        if self.issuers.is_empty() || self.issuers.len() > MAX_ENTRIES {
            let why = format!("must have 1 to {MAX_ENTRIES} entries, found {}", self.issuers.len());
            return wrong(&["issuers"], why, "write issuers = [{ issuer = \"https://login.example\" }]");
        }
        for (at, issuer) in self.issuers.iter().enumerate() {
            issuer.check().map_err(|wrong| wrong.below(&["issuers", &at.to_string()]))?;
            if self.issuers[..at].iter().any(|other| other.issuer == issuer.issuer) {
                let why = format!("named twice: {:?}", issuer.issuer);
                return wrong(&["issuers", &at.to_string(), "issuer"], why, "put its audiences into one entry");
            }
        }
        if self.scopes.len() > MAX_ENTRIES {
            let why = format!("has more than {MAX_ENTRIES} entries");
            return wrong(&["scopes"], why, "name only what every request needs");
        }
        if let Some(at) = self.scopes.iter().position(|scope| !is_scope(scope)) {
            let why = format!("not a scope: {:?}", self.scopes[at]);
            return wrong(&["scopes", &at.to_string()], why, "write it as the issuer does, without blanks: \"mcp\"");
        }
        if self.resource_name.as_ref().is_some_and(|name| name.is_empty() || name.len() > MAX_TEXT) {
            return wrong(&["resource-name"], format!("must have 1 to {MAX_TEXT} bytes"), "omit it, or shorten it");
        }
        if let Some(page) = self.resource_documentation.as_ref().filter(|page| !is_page(page)) {
            let why = format!("not an http or https URI: {page:?}");
            return wrong(&["resource-documentation"], why, "write it like this: \"https://wiki.example/tools\"");
        }
        if self.legacy_metadata && self.issuers.len() != 1 {
            let hint = "set it to false: those clients cannot choose between issuers";
            return wrong(&["legacy-metadata"], "needs exactly one issuer".into(), hint);
        }
        Ok(())
    }
}

impl IssuerConfig {
    fn check(&self) -> Result<(), WrongValue> {
        let wrong = |keys: &[&str], why: String, hint: &str| Err(WrongValue::at(keys, why).hint(hint));
        let https = "http is for this machine only; write it as the issuer does: \"https://login.example\"";
        if !is_issuer(&self.issuer) {
            return wrong(
                &["issuer"],
                format!("not an https URI without query and fragment: {:?}", self.issuer),
                https,
            );
        }
        let endpoint = self.introspection.as_ref().and_then(|introspection| introspection.endpoint.as_ref());
        let at = [(["jwks-uri"].as_slice(), self.jwks_uri.as_ref()), (&["introspection", "endpoint"], endpoint)];
        for (keys, uri) in at {
            if let Some(uri) = uri.filter(|uri| !is_fetched(uri)) {
                return wrong(keys, format!("not an https URI: {uri:?}"), https);
            }
        }
        if self.audiences.len() > MAX_ENTRIES || self.audiences.iter().any(|audience| !is_text(audience)) {
            let why = format!("must be at most {MAX_ENTRIES} texts of 1 to {MAX_TEXT} bytes each");
            return wrong(&["audiences"], why, "write each as in the \"aud\" of a token: [\"api://tools\"]");
        }
        let claims = [
            ("subject-claim", Some(&self.subject_claim)),
            ("scope-claim", self.scope_claim.as_ref()),
            ("groups-claim", Some(&self.groups_claim)),
        ];
        if let Some((key, _)) = claims.iter().find(|(_, claim)| claim.is_some_and(|claim| !is_text(claim))) {
            return wrong(&[key], format!("must have 1 to {MAX_TEXT} bytes"), "omit it for the default");
        }
        if let Some(prefix) = self.scope_prefix.as_ref().filter(|prefix| !is_scope(prefix)) {
            let hint = "write the URI of the application, with a slash: \"api://tools/\"";
            return wrong(&["scope-prefix"], format!("not the beginning of a scope: {prefix:?}"), hint);
        }
        if self.keep_keys.is_zero() {
            return wrong(&["keep-keys"], "must be more than 0".into(), "omit it for the default");
        }
        let Some(introspection) = &self.introspection else { return Ok(()) };
        if !is_text(&introspection.client_id) {
            let hint = "write the client that the issuer knows this server as";
            return wrong(&["introspection", "client-id"], format!("must have 1 to {MAX_TEXT} bytes"), hint);
        }
        let checked = introspection.client_secret.check("client-secret", "CLIENT_SECRET", "client-secret");
        checked.map_err(|wrong| wrong.below(&["introspection"]))
    }
}

impl Config {
    /// The files of client secrets.
    pub(super) fn client_secrets(&self) -> impl Iterator<Item = &SecretConfig> {
        let issuers = self.server.http.oauth.iter().flat_map(|oauth| &oauth.issuers);
        let exchanges = self.secrets.values().filter_map(|secret| secret.exchange.as_ref());
        let introspections = issuers.filter_map(|issuer| issuer.introspection.as_ref());
        introspections
            .map(|introspection| &introspection.client_secret)
            .chain(exchanges.map(|exchange| &exchange.client_secret))
    }
}

impl IntrospectionConfig {
    /// Reads the client's secret.
    ///
    /// # Errors
    /// If it is missing or malformed.
    pub fn read_secret(&self, config: &Config) -> Result<String, ConfigError> {
        let what = format!("server.http.oauth: the client secret of {:?}", self.client_id);
        self.client_secret.read(config, &what, 1)
    }
}

fn is_issuer(text: &str) -> bool {
    is_fetched(text) && web_uri(text).is_some_and(|uri| !uri.has_query())
}

fn is_page(text: &str) -> bool {
    web_uri(text).is_some()
}

/// Source: RFC 6749, section 3.3 and appendix A.4.
pub(super) fn is_scope(text: &str) -> bool {
    is_text(text) && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
}

//! Which tokens are accepted.

use std::fmt;
use std::time::Duration;

/// Of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthSettings {
    /// The canonical URI of this server, which is an audience of each issuer.
    pub resource: String,
    pub issuers: Vec<IssuerSettings>,
}

/// Of an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// As in the claim `iss`, byte for byte.
    pub issuer: String,
    /// Names of this server at the issuer, beside its URI.
    pub audiences: Vec<String>,
    /// Where its keys are, if not where its metadata says.
    pub jwks_uri: Option<String>,
    /// For tokens that are not JWTs.
    pub introspection: Option<IntrospectionSettings>,
    /// The claim that names the subject. If it is `sub`, which tokens of machines may lack, `client_id` and `azp` stand
    /// in for it.
    pub subject_claim: String,
    /// The path of a claim with scopes, beside `scope` and `scp`.
    pub scope_claim: Option<String>,
    /// What the issuer leaves out before the scopes in its tokens, though clients must ask for them with it.
    pub scope_prefix: Option<String>,
    /// The path of the claim with groups or roles, such as `realm_access.roles`.
    pub groups_claim: String,
    /// How long keys are used after they should have been fetched again.
    pub keep_keys: Duration,
}

impl IssuerSettings {
    /// With what most issuers need.
    pub fn new(issuer: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: Vec::new(),
            jwks_uri: None,
            introspection: None,
            subject_claim: "sub".to_owned(),
            scope_claim: None,
            scope_prefix: None,
            groups_claim: "groups".to_owned(),
            keep_keys: Duration::from_hours(24),
        }
    }
}

/// How an issuer is asked about a token (RFC 7662).
#[derive(Clone, PartialEq, Eq)]
pub struct IntrospectionSettings {
    /// If not where its metadata says.
    pub endpoint: Option<String>,
    /// This server's own credentials there.
    pub client_id: String,
    pub client_secret: String,
    /// Whether answers are accepted that do not say what kind of token it is.
    pub untyped: bool,
}

impl fmt::Debug for IntrospectionSettings {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("IntrospectionSettings");
        f.field("endpoint", &self.endpoint).field("client_id", &self.client_id);
        f.field("untyped", &self.untyped).finish_non_exhaustive()
    }
}

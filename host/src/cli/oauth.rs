//! From `[server.http.oauth]` to what verifies tokens.

use std::sync::Arc;

use crate::config::{Config, ConfigError, IssuerConfig};
use crate::oauth::{IntrospectionSettings, IssuerSettings, OAuthSettings, Verifier};
use crate::transport::http::OAuth;

/// `None` if none is configured.
///
/// # Errors
/// If a client secret is missing or malformed.
pub(super) fn oauth(config: &Config) -> Result<Option<Arc<OAuth>>, ConfigError> {
    let Some(oauth) = &config.server.http.oauth else { return Ok(None) };
    let issuers: Result<_, ConfigError> =
        oauth.issuers.iter().map(|own| issuer(own, &oauth.resource, config)).collect();
    let verifier = Verifier::new(OAuthSettings { resource: oauth.resource.clone(), issuers: issuers? });
    Ok(Some(Arc::new(OAuth {
        verifier,
        resource: oauth.resource.clone(),
        issuers: oauth.issuers.iter().map(|own| own.issuer.clone()).collect(),
        scopes: oauth.scopes.clone(),
        name: oauth.resource_name.clone(),
        documentation: oauth.resource_documentation.clone(),
        legacy_metadata: oauth.legacy_metadata,
    })))
}

fn issuer(own: &IssuerConfig, resource: &str, config: &Config) -> Result<IssuerSettings, ConfigError> {
    let mut audiences = own.audiences.clone();
    // Browsers and what is made of them write a URI without a path with a slash (the URL standard).
    if resource.matches('/').count() == 2 {
        audiences.push(format!("{resource}/"));
    }
    let introspection = own.introspection.as_ref().map(|own| {
        let (endpoint, client_id) = (own.endpoint.clone(), own.client_id.clone());
        Ok(IntrospectionSettings { endpoint, client_id, client_secret: own.read_secret(config)? })
    });
    Ok(IssuerSettings {
        issuer: own.issuer.clone(),
        audiences,
        jwks_uri: own.jwks_uri.clone(),
        introspection: introspection.transpose()?,
        subject_claim: own.subject_claim.clone(),
        scope_claim: own.scope_claim.clone(),
        scope_prefix: own.scope_prefix.clone(),
        groups_claim: own.groups_claim.clone(),
        keep_keys: own.keep_keys,
    })
}

#[cfg(test)]
mod tests {
    use super::issuer;
    use crate::config::Config;

    #[test]
    fn a_uri_without_a_path_is_an_audience_with_a_slash_too() {
        let text = "[server.http.oauth]\nresource = 'https://a.example'\nissuers = [{ issuer = 'https://b.example', audiences = ['x'] }]\n";
        let config = Config::parse(text).expect("valid");
        let own = &config.server.http.oauth.as_ref().expect("set").issuers[0];
        let audiences = |resource: &str| issuer(own, resource, &config).expect("no secret is needed").audiences;
        assert_eq!(audiences("https://a.example"), ["x", "https://a.example/"]);
        assert_eq!(audiences("https://a.example/mcp"), ["x"]);
    }
}

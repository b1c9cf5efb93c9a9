//! From `[server.http.oauth]` to what verifies tokens.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::finding::Finding;
use crate::config::{Config, ConfigError, IssuerConfig};
use crate::oauth::{IntrospectionSettings, IssuerSettings, IssuerStatus, OAuthSettings, Verifier};
use crate::report::Failure;
use crate::transport::http::OAuth;

const ABOUT: &str = "OAuth";
/// How long `wharf doctor` waits for issuers, and how often it looks.
const PATIENCE: Duration = Duration::from_secs(12);
const INTERVAL: Duration = Duration::from_millis(20);

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
        carries_tokens: AtomicBool::new(config.has_exchanges()),
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
        Ok(IntrospectionSettings { endpoint, client_id, client_secret: own.read_secret(config)?, untyped: own.untyped })
    });
    Ok(IssuerSettings { audiences, introspection: introspection.transpose()?, ..claims_of(own) })
}

/// What is needed to understand an issuer's claims, without its secret.
pub(super) fn claims_of(own: &IssuerConfig) -> IssuerSettings {
    IssuerSettings {
        issuer: own.issuer.clone(),
        audiences: Vec::new(),
        jwks_uri: own.jwks_uri.clone(),
        introspection: None,
        subject_claim: own.subject_claim.clone(),
        scope_claim: own.scope_claim.clone(),
        scope_prefix: own.scope_prefix.clone(),
        groups_claim: own.groups_claim.clone(),
        keep_keys: own.keep_keys,
    }
}

/// Whether each issuer can be reached, for `wharf doctor`.
pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    let verifier = match oauth(config) {
        Ok(Some(oauth)) => oauth.verifier.clone(),
        Ok(None) => return Vec::new(),
        Err(error) => return vec![Finding::bad(ABOUT, Failure::usage(error.to_string()).hint(error.hint))],
    };
    let all_answered = async {
        while verifier.status().iter().any(|issuer| !issuer.ready && issuer.error.is_none()) {
            sleep(INTERVAL).await;
        }
    };
    tokio::select! {
        never = verifier.run() => match never {},
        _ = timeout(PATIENCE, all_answered) => {}
    }
    verifier.status().iter().map(finding).collect()
}

fn finding(issuer: &IssuerStatus) -> Finding {
    let name = &issuer.issuer;
    match (&issuer.error, issuer.keys) {
        (None, 1) if issuer.ready => Finding::good(ABOUT, format!("1 key of {name}")),
        (None, keys) if issuer.ready => Finding::good(ABOUT, format!("{keys} keys of {name}")),
        (error, _) => {
            let why = error.as_deref().unwrap_or("no answer in time");
            let issuer = name.trim_end_matches('/');
            let hint = format!(
                "a server starts all the same, and answers 503 until it has them; to see what the issuer answers: \
                 curl {issuer}/.well-known/openid-configuration"
            );
            Finding::missing(ABOUT, format!("no keys of {name}: {why}"), hint)
        }
    }
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

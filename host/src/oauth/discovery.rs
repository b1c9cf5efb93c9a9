//! From an issuer to its metadata (RFC 8414, and discovery of OpenID Connect).

use bytes::Bytes;
use serde::Deserialize;
use tokio::time::timeout;

use super::fetch::{self, Address, FetchError};
use crate::json;
use crate::net::http::Http;

/// Metadata of an issuer.
#[derive(Debug)]
pub(super) struct Metadata {
    /// As it was received.
    pub(super) document: Bytes,
    pub(super) jwks_uri: Option<Address>,
    pub(super) introspection_endpoint: Option<Address>,
    /// Where tokens are exchanged, if that can be used.
    pub(super) token_endpoint: Option<Address>,
}

#[derive(Deserialize)]
struct Members {
    issuer: String,
    jwks_uri: Option<String>,
    introspection_endpoint: Option<String>,
    token_endpoint: Option<String>,
}

/// Where metadata may be, in the order of MCP's specification. An issuer with a path has three places, others two.
pub(super) fn places(issuer: &str) -> Result<Vec<Address>, String> {
    let at = Address::configured(issuer)?;
    if at.uri.query().is_some() || issuer.contains('#') {
        return Err(format!("an issuer has neither a query nor a fragment: {issuer}"));
    }
    // Of the slash at the end: RFC 8414, section 3.1.
    let whole = issuer.strip_suffix('/').unwrap_or(issuer);
    let path = at.uri.path();
    let path = path.strip_suffix('/').unwrap_or(path);
    let origin = whole.strip_suffix(path).ok_or_else(|| format!("{issuer} is no URL"))?;
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{whole}/.well-known/openid-configuration"));
    }
    places.iter().map(|place| Address::configured(place)).collect()
}

/// Finds the metadata of an issuer.
///
/// # Errors
/// If it is at none of its places, or names another issuer.
pub(super) async fn discover(http: &Http, issuer: &str) -> Result<Metadata, String> {
    let places = places(issuer)?;
    let search = async {
        let mut refused: Option<String> = None;
        for place in &places {
            match fetch::get(http, place, "its metadata").await {
                Ok(document) => match read(document.bytes, issuer, place) {
                    Ok(metadata) => return Ok(metadata),
                    // It says more than that there is nothing at another place.
                    Err(why) => refused = Some(why),
                },
                // It is the same server at all places.
                Err(error @ FetchError::Failed(_)) => return Err(String::from(error)),
                Err(FetchError::Status(why)) => refused = refused.or(Some(why)),
            }
        }
        Err(refused.unwrap_or_default())
    };
    let late = || Err(format!("{issuer} did not answer in time"));
    timeout(fetch::TIME, search).await.unwrap_or_else(|_| late())
}

fn read(document: Bytes, issuer: &str, place: &Address) -> Result<Metadata, String> {
    let unusable = |why: &str| format!("the metadata at {} is not usable: {why}", place.uri);
    let text = std::str::from_utf8(&document).map_err(|_| unusable("it is not UTF-8"))?;
    let members: Members = json::read(text).map_err(|error| unusable(&error.to_string()))?;
    if members.issuer != issuer {
        let slash = members.issuer.trim_end_matches('/') == issuer.trim_end_matches('/');
        let advice = if slash { ": in the configuration, write the slash at the end as there" } else { "" };
        return Err(unusable(&format!("it is of another issuer, {}{advice}", members.issuer)));
    }
    let address =
        |url: Option<String>| url.map(|url| Address::named(&url, place)).transpose().map_err(|why| unusable(&why));
    let (jwks_uri, introspection_endpoint) = (address(members.jwks_uri)?, address(members.introspection_endpoint)?);
    // Not needed to verify a token: no reason to refuse all.
    let token_endpoint = members.token_endpoint.and_then(|url| Address::named(&url, place).ok());
    Ok(Metadata { jwks_uri, introspection_endpoint, token_endpoint, document })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_specification_says() {
        let of = |issuer: &str| -> Vec<String> {
            places(issuer).expect("an issuer").iter().map(|place| place.uri.to_string()).collect()
        };
        let root = [
            "https://h.example/.well-known/oauth-authorization-server",
            "https://h.example/.well-known/openid-configuration",
        ];
        assert_eq!(of("https://h.example"), root);
        assert_eq!(of("https://h.example/"), root);
        let below = [
            "https://h.example:8443/.well-known/oauth-authorization-server/realms/a",
            "https://h.example:8443/.well-known/openid-configuration/realms/a",
            "https://h.example:8443/realms/a/.well-known/openid-configuration",
        ];
        assert_eq!(of("https://h.example:8443/realms/a"), below);
        assert_eq!(of("https://h.example:8443/realms/a/"), below);
        for issuer in ["https://h.example?a", "https://h.example/#a", "http://h.example", "h.example", ""] {
            assert!(places(issuer).is_err(), "{issuer}");
        }
    }

    #[test]
    fn metadata_of_another_issuer_is_refused() {
        let place = &places("https://h.example").expect("an issuer")[0];
        let read = |text: &str| read(Bytes::copy_from_slice(text.as_bytes()), "https://h.example", place);
        let found = read(r#"{"issuer": "https://h.example", "jwks_uri": "https://h.example/k"}"#).expect("metadata");
        assert_eq!(found.jwks_uri.expect("an address").uri, "https://h.example/k");
        let why = read(r#"{"issuer": "https://h.example/"}"#).expect_err("another issuer");
        assert!(
            why.ends_with("https://h.example/: in the configuration, write the slash at the end as there"),
            "{why}"
        );
        let why = read(r#"{"issuer": "https://h.example/a"}"#).expect_err("another issuer");
        assert!(why.ends_with("it is of another issuer, https://h.example/a"), "{why}");
        for text in [
            r#"{"issuer": "https://H.example"}"#,
            r#"{"issuer": "https://a", "issuer": "https://h.example"}"#,
            r#"{"issuer": "https://h.example", "jwks_uri": "http://h.example/k"}"#,
            r#"{"issuer": "https://h.example", "jwks_uri": 1}"#,
            "{}",
            "[]",
            "",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

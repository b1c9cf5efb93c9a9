//! Challenges of registries, and the tokens that answer them: the token authentication of the distribution project.

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::Full;
use serde::Deserialize;

use super::credentials::{Credentials, basic};
use super::error::RegistryError;
use super::reference::Repository;
use crate::json;
use crate::net::http::{Http, NamedBy, form, require_tls, target_of};
use crate::net::target::Target;

/// Bytes of a token server's answer.
const MAX_ANSWER: u64 = 64 << 10;
const CLIENT: &str = "wharf";
/// For the list of repositories.
const CATALOG: &str = "registry:catalog:*";

/// What is done to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

/// What a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    /// The challenge of a response; a bearer token is preferred.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let texts = headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let mut found: Vec<Self> = texts.filter_map(Self::parse).collect();
        found.sort_by_key(|challenge| *challenge == Self::Basic);
        found.into_iter().next()
    }

    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once(' ').unwrap_or((text, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service, mut scope) = (None, None, None);
        let mut rest = rest.trim_start();
        while let Some((name, value)) = rest.split_once('=') {
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"')?,
                None => value.split_once(',').unwrap_or((value, "")),
            };
            match name.trim().to_ascii_lowercase().as_str() {
                "realm" => realm = Some(value.to_owned()),
                "service" => service = Some(value.to_owned()),
                "scope" => scope = Some(value.to_owned()),
                _ => {}
            }
            rest = after.trim_start_matches([',', ' ']);
        }
        Some(Self::Bearer { realm: realm?, service, scope })
    }
}

/// The value of `Authorization` that answers a challenge; `None` if there is none to be had.
///
/// `registry` is where the challenge came from: a token server may be at a private address only if it is that one, or if
/// `private` is set.
pub(super) async fn answer(
    http: &Http,
    challenge: Challenge,
    credentials: Option<&Credentials>,
    (repository, access): (&Repository, Access),
    registry: &Target,
    private: bool,
) -> Result<Option<HeaderValue>, RegistryError> {
    let Challenge::Bearer { realm, service, scope } = challenge else {
        return Ok(match credentials {
            Some(Credentials::Password { user, password }) => secret(&basic(user, password)),
            Some(Credentials::Bearer(token) | Credentials::Identity(token)) => secret(&format!("Bearer {token}")),
            None => None,
        });
    };
    if let Some(Credentials::Bearer(token)) = credentials {
        return Ok(secret(&format!("Bearer {token}")));
    }
    let uri: Uri = realm.parse().map_err(|_| {
        RegistryError::protocol(format!("{} named a token server that is no URL", registry.authority()))
    })?;
    let target = target_of(&uri)?;
    // The password would be readable on the way.
    require_tls(registry, &target)?;
    // Only what is needed, whatever a server asks for.
    let own = format!("repository:{}:", repository.path);
    let is_own = |scope: &String| scope == CATALOG || scope.starts_with(&own) && !scope.contains(' ');
    let scope = scope.filter(is_own).unwrap_or_else(|| match access {
        Access::Pull => format!("{own}pull"),
        Access::Push => format!("{own}pull,push"),
    });
    let host = registry.authority();
    let named = if target == *registry || private { NamedBy::Person } else { NamedBy::Server(&host) };
    let request = match credentials {
        Some(Credentials::Identity(token)) => {
            let form = form([
                ("grant_type", "refresh_token"),
                ("client_id", CLIENT),
                ("service", service.as_deref().unwrap_or(&host)),
                ("scope", &scope),
                ("refresh_token", token),
            ]);
            Request::builder()
                .method(Method::POST)
                .uri(uri)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(Full::new(Bytes::from(form)))
        }
        password => {
            let pairs = [("service", service.as_deref()), ("scope", Some(&*scope)), ("client_id", Some(CLIENT))];
            let query = form(pairs.into_iter().filter_map(|(name, value)| Some((name, value?))));
            let asked = if uri.query().is_some() { format!("{realm}&{query}") } else { format!("{realm}?{query}") };
            let mut request = Request::builder().uri(asked);
            if let Some(Credentials::Password { user, password }) = password
                && let Some(value) = secret(&basic(user, password))
            {
                request = request.header(header::AUTHORIZATION, value);
            }
            request.body(Full::default())
        }
    };
    let request = request.map_err(|error| RegistryError::protocol(format!("{host}: {error}")))?;
    let received = http.send(request, &target, named).await?;
    let status = received.response.status();
    let text = received.text("the token server's answer", MAX_ANSWER).await?;
    if !status.is_success() {
        return Err(RegistryError::Status { host: target.authority(), status, message: String::new() });
    }
    let unreadable = || RegistryError::protocol(format!("{} gave no token", target.authority()));
    let answer: TokenAnswer =
        std::str::from_utf8(&text).ok().and_then(|text| json::read(text).ok()).ok_or_else(unreadable)?;
    let token = answer.token.or(answer.access_token).filter(|token| !token.is_empty()).ok_or_else(unreadable)?;
    Ok(secret(&format!("Bearer {token}")))
}

/// A header's value that is not shown; `None` if it cannot be one.
fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            Some(Challenge::Bearer {
                realm: realm.to_owned(),
                service: service.map(str::to_owned),
                scope: scope.map(str::to_owned),
            })
        };
        for (text, expected) in [
            (
                r#"Bearer realm="https://a.example/token",service="a",scope="repository:x/y:pull,push""#,
                bearer("https://a.example/token", Some("a"), Some("repository:x/y:pull,push")),
            ),
            (r#"bearer scope="s" , realm=https://a"#, bearer("https://a", None, Some("s"))),
            (r#"Bearer realm="https://a", error="x=y""#, bearer("https://a", None, None)),
            (r#"Basic realm="x""#, Some(Challenge::Basic)),
            ("Basic", Some(Challenge::Basic)),
            ("Bearer", None),
            (r#"Bearer realm="https://a"#, None),
            ("Negotiate", None),
        ] {
            assert_eq!(Challenge::parse(text), expected, "{text}");
        }
    }
}

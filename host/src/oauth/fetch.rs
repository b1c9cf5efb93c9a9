//! Documents of an issuer: over TLS, small, soon, and from where they were asked for.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use tokio::time::timeout;

use crate::net::http::{Http, NamedBy, form, is_loopback};
use crate::net::target::Target;

/// For one document, from the lookup of the name to its last byte.
pub(super) const TIME: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 10 });
/// Bytes of a document.
const MAX_DOCUMENT: u64 = 1 << 20;

/// A URL of an issuer that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) uri: Uri,
    target: Target,
    /// The host that named it, if no person did.
    by: Option<String>,
}

impl Address {
    /// Of the configuration.
    pub(super) fn configured(url: &str) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("{url} is no URL"))?;
        let target = Target::of(&uri).map_err(|why| format!("{url} cannot be used: {why}"))?;
        if !target.https && !is_loopback(&target) {
            return Err(format!("{url} has no TLS: it must begin with https://"));
        }
        Ok(Self { uri, target, by: None })
    }

    /// Named by the metadata at `by`: at the same place, or at a public one. So metadata leads nobody into the own network.
    pub(super) fn named(url: &str, by: &Self) -> Result<Self, String> {
        let mut found = Self::configured(url)?;
        if by.target.https && !found.target.https {
            return Err(format!("{} led to {url}, which has no TLS", by.target.authority()));
        }
        if found.target != by.target {
            found.by = Some(by.target.authority());
        }
        Ok(found)
    }

    pub(super) fn host(&self) -> String {
        self.target.authority()
    }
}

/// A response that was received whole.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) bytes: Bytes,
    /// How long it may be used, if it says so.
    pub(super) max_age: Option<Duration>,
}

/// Why there is no document.
#[derive(Debug)]
pub(super) enum FetchError {
    /// The server answered with another status than 200.
    Status(String),
    /// It did not answer.
    Failed(String),
}

impl From<FetchError> for String {
    fn from(error: FetchError) -> Self {
        let (FetchError::Status(why) | FetchError::Failed(why)) = error;
        why
    }
}

/// Gets a document.
pub(super) async fn get(http: &Http, address: &Address, what: &'static str) -> Result<Document, FetchError> {
    let mut request = Request::new(Full::<Bytes>::default());
    *request.uri_mut() = address.uri.clone();
    send(http, address, request, what, MAX_DOCUMENT).await
}

/// Sends a request, and receives what answers it with status 200. Redirects are not followed: they are another status.
pub(super) async fn send(
    http: &Http,
    address: &Address,
    request: Request<Full<Bytes>>,
    what: &'static str,
    limit: u64,
) -> Result<Document, FetchError> {
    match receive(http, address, request, what, limit).await? {
        (StatusCode::OK, Some(document)) => Ok(document),
        (status, _) => Err(FetchError::Status(format!("{} answered {status} when asked for {what}", address.host()))),
    }
}

/// The same with any status; a body is received with those that say why something was refused.
pub(super) async fn receive(
    http: &Http,
    address: &Address,
    mut request: Request<Full<Bytes>>,
    what: &'static str,
    limit: u64,
) -> Result<(StatusCode, Option<Document>), FetchError> {
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let named = address.by.as_deref().map_or(NamedBy::Person, NamedBy::Server);
    let exchange = async {
        let failed = |error: crate::net::http::HttpError| FetchError::Failed(error.to_string());
        let received = http.send(request, &address.target, named).await.map_err(failed)?;
        let status = received.response.status();
        if !matches!(status, StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED) {
            return Ok((status, None));
        }
        let max_age = max_age(received.response.headers());
        match received.text(what, limit).await {
            Ok(bytes) => Ok((status, Some(Document { bytes: bytes.into(), max_age }))),
            Err(error) if status == StatusCode::OK => Err(failed(error)),
            Err(_) => Ok((status, None)),
        }
    };
    let late = || FetchError::Failed(format!("{} did not answer in time", address.host()));
    timeout(TIME, exchange).await.unwrap_or_else(|_| Err(late()))
}

/// A form of this server, with its credentials there.
pub(super) fn form_of_client(
    address: &Address,
    (id, secret): (&str, &str),
    body: String,
) -> Result<Request<Full<Bytes>>, String> {
    // Both are encoded before they are joined: RFC 6749, section 2.3.1.
    let encoded = |text: &str| form([("", text)]).split_off(1);
    let credentials = format!("{}:{}", encoded(id), encoded(secret));
    let mut authorization = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(credentials)))
        .map_err(|_| "the client's credentials are no header".to_owned())?;
    authorization.set_sensitive(true);
    Request::builder()
        .method(Method::POST)
        .uri(address.uri.clone())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::AUTHORIZATION, authorization)
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| error.to_string())
}

/// How long a response may be used: RFC 9111, section 5.2.2.
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let texts = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let directives = texts.flat_map(|text| text.split(',')).map(|directive| directive.trim().to_ascii_lowercase());
    directives.fold(None, |found, directive| match directive.split_once('=') {
        None if directive == "no-store" || directive == "no-cache" => Some(Duration::ZERO),
        Some(("max-age", seconds)) => {
            let seconds = seconds.trim_matches('"').parse::<u64>().ok().map(Duration::from_secs);
            [found, seconds].into_iter().flatten().min()
        }
        _ => found,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_fetched_has_tls_or_is_this_machine() {
        for (url, accepted) in [
            ("https://issuer.example/keys?a=b", true),
            ("http://127.0.0.1:8080/keys", true),
            ("http://[::1]:8080/keys", true),
            ("http://localhost/keys", true),
            ("http://issuer.example/keys", false),
            ("http://127.0.0.1.example/keys", false),
            ("ftp://issuer.example/keys", false),
            ("https://user@issuer.example/keys", false),
            ("/keys", false),
            ("", false),
        ] {
            assert_eq!(Address::configured(url).is_ok(), accepted, "{url}");
        }
    }

    #[test]
    fn metadata_leads_to_the_same_place_or_a_public_one() {
        let issuer = Address::configured("https://issuer.example").expect("a URL");
        let by = |url: &str| Address::named(url, &issuer).expect("a URL").by;
        assert_eq!(by("https://issuer.example/keys"), None);
        assert_eq!(by("https://issuer.example:444/keys").as_deref(), Some("issuer.example"));
        assert_eq!(by("https://10.0.0.1/keys").as_deref(), Some("issuer.example"));
        assert!(Address::named("http://127.0.0.1/keys", &issuer).is_err(), "without TLS");
    }

    #[test]
    fn lifetimes_are_read() {
        let of = |texts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(header::CACHE_CONTROL, HeaderValue::from_static(text));
            }
            max_age(&headers).map(|age| age.as_secs())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["public, Max-Age=600"]), Some(600));
        assert_eq!(of(&["max-age=600", "max-age=\"60\""]), Some(60), "the shorter one");
        assert_eq!(of(&["no-store"]), Some(0));
        assert_eq!(of(&["no-cache, max-age=600"]), Some(0));
        assert_eq!(of(&["max-age=-1", "max-age=x", "private"]), None);
    }
}

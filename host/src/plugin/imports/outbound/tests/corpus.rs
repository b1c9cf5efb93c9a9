//! Row H37: URLs that a plugin may try, with the expected outcome at both front ends.

use http::Request;
use http_body_util::{BodyExt as _, Empty};
use wasmtime_wasi_http::{Error, WasiHttpHooks as _};

use super::*;
use crate::plugin::imports::outbound::{fetch, wasi};

/// The expected outcome of a request.
#[derive(Debug, PartialEq)]
enum Expected {
    /// It reaches the server with this request line.
    Sent(&'static str),
    NotGranted,
    NotPublic,
    /// No addresses.
    Unknown,
    /// It is not a valid request.
    Invalid,
}
use Expected::*;

/// Method, URL and expected outcome. `PORT` is the server's port; the grants are in [`granted`].
const CORPUS: [(&str, &str, Expected); 76] = [
    ("GET", "http://api.example:PORT/v1", Sent("GET /v1 ")),
    ("GET", "http://api.example:PORT/v1/", Sent("GET /v1/ ")),
    ("HEAD", "http://api.example:PORT/v1/a/b?c=d&e", Sent("HEAD /v1/a/b?c=d&e ")),
    ("GET", "HTTP://API.EXAMPLE:PORT/v1/x", Sent("GET /v1/x ")),
    ("GET", "http://api.example.:PORT/v1/x", Sent("GET /v1/x ")),
    ("GET", "http://api.example:PORT/v1/x#fragment", Sent("GET /v1/x ")),
    ("GET", "http://api.example:PORT/v1/%41%20b", Sent("GET /v1/%41%20b ")),
    ("GET", "http://xn--bcher-kva.example:PORT/", Sent("GET / ")),
    ("GET", "http://xn--bcher-kva.example:PORT", Sent("GET / ")),
    ("POST", "http://other.example:PORT/any", Sent("POST /any ")),
    // Other methods.
    ("POST", "http://api.example:PORT/v1/x", NotGranted),
    ("get", "http://api.example:PORT/v1/x", NotGranted),
    ("GET", "http://other.example:PORT/any", NotGranted),
    ("CONNECT", "http://other.example:PORT/any", NotGranted),
    ("TRACE", "http://api.example:PORT/v1/x", NotGranted),
    ("GET /v1 HTTP/1.1\r\nX:", "http://api.example:PORT/v1/x", Invalid),
    ("", "http://api.example:PORT/v1/x", Invalid),
    // Other schemes, hosts and ports.
    ("GET", "https://api.example:PORT/v1/x", NotGranted),
    ("GET", "http://api.example/v1/x", NotGranted),
    ("GET", "http://api.example:1/v1/x", NotGranted),
    ("GET", "http://api.example:0/v1/x", Invalid),
    ("GET", "http://api.example:/v1/x", Invalid),
    ("GET", "http://api.example:70000/v1/x", Invalid),
    ("GET", "http://evil.example:PORT/v1/x", NotGranted),
    ("GET", "http://api.example.evil.example:PORT/v1/x", NotGranted),
    ("GET", "http://evil-api.example:PORT/v1/x", NotGranted),
    ("GET", "http://example:PORT/v1/x", NotGranted),
    ("GET", "http://localhost:PORT/v1/x", NotGranted),
    ("GET", "ftp://api.example:PORT/v1/x", Invalid),
    ("GET", "file:///etc/passwd", Invalid),
    ("GET", "//api.example:PORT/v1/x", Invalid),
    ("GET", "/v1/x", Invalid),
    ("GET", "api.example:PORT", Invalid),
    ("GET", "http:///v1/x", Invalid),
    // Names that parsers read differently.
    ("GET", "http://api.example@evil.example:PORT/v1/x", Invalid),
    ("GET", "http://user:secret@api.example:PORT/v1/x", Invalid),
    ("GET", "http://evil.example:80@api.example:PORT/v1/x", Invalid),
    ("GET", "http://api.example:PORT\\@evil.example/v1/x", Invalid),
    ("GET", "http://bücher.example:PORT/", Invalid),
    ("GET", "http://api.ex%61mple:PORT/v1/x", Invalid),
    ("GET", "http://ａpi.example:PORT/v1/x", Invalid),
    ("GET", "http://api.example..:PORT/v1/x", Invalid),
    ("GET", "http://api..example:PORT/v1/x", Invalid),
    ("GET", "http://api.example :PORT/v1/x", Invalid),
    ("GET", "http://api.example:PORT/v1/x y", Invalid),
    ("GET", "http://api.example:PORT/v1/x\r\nHost: evil.example", Invalid),
    // Paths.
    ("GET", "http://api.example:PORT/", NotGranted),
    ("GET", "http://api.example:PORT/v10", NotGranted),
    ("GET", "http://api.example:PORT/V1/x", NotGranted),
    ("GET", "http://api.example:PORT/v2/v1/", NotGranted),
    ("GET", "http://api.example:PORT/v1/a/../b/./c", Sent("GET /v1/b/c ")),
    ("GET", "http://api.example:PORT/v2/../v1/x", Sent("GET /v1/x ")),
    ("GET", "http://api.example:PORT/v1/../admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/..", NotGranted),
    ("GET", "http://api.example:PORT/v1/a/../../../admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/%2e%2e/admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/.%2E/admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/..%2fadmin", NotGranted),
    ("GET", "http://api.example:PORT/v1/%252e%252e/admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/..;/admin", NotGranted),
    ("GET", "http://api.example:PORT/v1/..%5cadmin", NotGranted),
    ("GET", "http://api.example:PORT/v1/http://evil.example/", Sent("GET /v1/http://evil.example/ ")),
    // Addresses.
    ("GET", "http://127.0.0.1:PORT/ip/x", Sent("GET /ip/x ")),
    ("GET", "http://127.0.0.2:PORT/ip/x", NotGranted),
    ("GET", "http://2130706433:PORT/ip/x", Invalid),
    ("GET", "http://0177.0.0.1:PORT/ip/x", Invalid),
    ("GET", "http://0x7f.0.0.1:PORT/ip/x", Invalid),
    ("GET", "http://0x7f000001:PORT/ip/x", Invalid),
    ("GET", "http://127.1:PORT/ip/x", Invalid),
    ("GET", "http://[::ffff:127.0.0.1]:PORT/", NotPublic),
    ("GET", "http://[fe80::1%25eth0]:PORT/", Invalid),
    ("GET", "http://169.254.169.254/latest/meta-data/", NotPublic),
    // Names with private addresses, and DNS rebinding.
    ("GET", "http://inside.example:PORT/", NotPublic),
    ("GET", "http://rebind.example:PORT/", NotPublic),
    ("GET", "http://mapped.example:PORT/", NotPublic),
    ("GET", "http://none.example:PORT/", Unknown),
];

fn granted(port: u16) -> Vec<HttpGrant> {
    let at = |url: &str| grant(&url.replace("PORT", &port.to_string()));
    let posting = at("http://other.example:PORT").methods(&["POST".into()]).expect("a method");
    vec![
        at("http://api.example:PORT/v1/").private(true),
        at("http://xn--bcher-kva.example:PORT").private(true),
        posting.private(true),
        at("http://127.0.0.1:PORT/ip").private(true),
        at("http://[::ffff:127.0.0.1]:PORT"),
        at("http://169.254.169.254"),
        at("http://inside.example:PORT"),
        at("http://rebind.example:PORT"),
        at("http://mapped.example:PORT"),
        at("http://none.example:PORT"),
    ]
}

/// Whether a front end's outcome is the expected one.
fn is<T, E: std::fmt::Debug>(
    expected: &Expected,
    outcome: &Result<T, E>,
    kind: impl Fn(&E) -> Option<Expected>,
) -> bool {
    match outcome {
        Ok(_) => matches!(expected, Sent(_)),
        Err(error) => kind(error).as_ref() == Some(expected),
    }
}

/// Whether the server received what is expected, with one `Host` field.
fn was_seen(expected: &Expected, server: &Server) -> bool {
    match (expected, server.take().as_slice()) {
        (Sent(line), [head]) => head.starts_with(line) && head.matches("host: ").count() == 1,
        (Sent(_), _) => false,
        (_, seen) => seen.is_empty(),
    }
}

#[tokio::test]
async fn h37_only_granted_requests_are_sent() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let call = call_of(sandbox(), granted(server.port), Vec::new());
    for (method, url, expected) in CORPUS {
        let url = url.replace("PORT", &server.port.to_string());
        let outcome = fetch::fetch(call.clone(), Http::Request { method: method.into(), ..get(&url) }).await;
        let kind = |failure: &Failure| match failure {
            Failure::NotGranted(_) => Some(NotGranted),
            Failure::NotPublic => Some(NotPublic),
            Failure::NoAddress => Some(Unknown),
            Failure::Invalid(_) => Some(Invalid),
            _ => None,
        };
        assert!(is(&expected, &outcome, kind), "{method} {url}: {outcome:?}, not {expected:?}");
        assert!(was_seen(&expected, &server), "{method} {url}: {expected:?} was not what the server saw");
    }
}

#[tokio::test]
async fn h37_both_front_ends_enforce_the_same_grants() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let call = call_of(sandbox(), granted(server.port), Vec::new());
    let mut tried = 0;
    for (method, url, expected) in CORPUS {
        let url = url.replace("PORT", &server.port.to_string());
        // Invalid methods and URIs do not reach the hooks.
        let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
        let Ok(request) = Request::builder().method(method).uri(&url).body(body) else { continue };
        tried += 1;
        let outcome = Box::into_pin(wasi::Hooks(call.clone()).send_request(request, None, Box::new(async { Ok(()) })));
        let kind = |error: &Error| match error {
            Error::HttpRequestDenied => Some(NotGranted),
            Error::DestinationIpProhibited => Some(NotPublic),
            Error::DnsError { .. } => Some(Unknown),
            Error::HttpRequestUriInvalid => Some(Invalid),
            _ => None,
        };
        let outcome = outcome.await.map(|(response, _)| response.status());
        assert!(is(&expected, &outcome, kind), "{method} {url}: {outcome:?}, not {expected:?}");
        assert!(was_seen(&expected, &server), "{method} {url}: {expected:?} was not what the server saw");
    }
    assert!(tried > 50, "only {tried} requests were tried");
}

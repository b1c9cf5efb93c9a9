//! Which `Host` and `Origin` may come in: the wall against web pages that reach for servers
//! of the user's own machine (DNS rebinding, cross-site requests).
//!
//! Only whole, exact names are compared. It reads headers and no body.
//! Source: MCP 2026-07-28, basic/transports/streamable-http, "Security"; RFC 6454, section 6.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};

use crate::transport::http::refusal::{Refusal, empty};
use crate::transport::http::{Response, Settings};

/// What a page of an allowed origin may read of an answer.
const EXPOSED: &str = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
const METHODS: &str = "GET, POST, DELETE";

pub(super) struct Guard {
    /// As in `Host`.
    hosts: Vec<String>,
    /// As in `Origin`.
    origins: Vec<String>,
    /// Those of other sites, which get CORS headers.
    foreign: Vec<String>,
}

impl Guard {
    /// `bound` is where the server listens; `None` for a Unix socket.
    pub(super) fn new(bound: Option<SocketAddr>, tls: bool, settings: &Settings) -> Self {
        let mut hosts = own_names(bound, tls);
        hosts.extend_from_slice(&settings.allowed_hosts);
        let foreign = settings.allowed_origins.clone();
        let own = hosts.iter().flat_map(|host| [format!("http://{host}"), format!("https://{host}")]);
        let origins = own.chain(foreign.iter().cloned()).collect();
        Self { hosts, origins, foreign }
    }

    /// Lets those ask how the server does who know it by its names or by any address, such as
    /// supervisors, and those who name nobody.
    ///
    /// # Errors
    /// 403 for other names, and for pages of other sites.
    pub(super) fn check_probe(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, &header::HOST)?.map(text);
        let target = uri.authority().map(|authority| authority.as_str());
        if !host.into_iter().chain(target).all(|name| is_address(name) || is_among(&self.hosts, name)) {
            return Err(host_not_allowed());
        }
        match only(headers, &header::ORIGIN)? {
            Some(origin) if !is_among(&self.origins, text(origin)) => Err(origin_not_allowed()),
            _ => Ok(()),
        }
    }

    /// Lets a request pass, and gives its origin if that is another site which may read the
    /// answer.
    ///
    /// # Errors
    /// 403 if `Host` or `Origin` is not on the list.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<HeaderValue>, Refusal> {
        let host = only(headers, &header::HOST)?.ok_or_else(|| forbidden("host_missing", "there is no Host header"))?;
        // A target that names a host of its own stands above the header (RFC 9112, section 3.2.2).
        let target = uri.authority().map(|authority| authority.as_str());
        for name in std::iter::once(text(host)).chain(target) {
            if !is_among(&self.hosts, name) {
                return Err(host_not_allowed());
            }
        }
        let Some(origin) = only(headers, &header::ORIGIN)? else { return Ok(None) };
        let name = text(origin);
        if !is_among(&self.origins, name) {
            return Err(origin_not_allowed());
        }
        Ok(is_among(&self.foreign, name).then(|| origin.clone()))
    }
}

/// Whether a `Host` is an address. A page that reaches for this machine by a name of its own
/// (DNS rebinding) sends that name.
fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse::<IpAddr>().is_ok() || host.parse::<SocketAddr>().is_ok()
}

/// The answer to a browser that asks, before the request itself, whether a page may send it.
/// `None` if this is no such question.
pub(super) fn preflight(method: &Method, headers: &HeaderMap, origin: &HeaderValue) -> Option<Response> {
    if method != Method::OPTIONS || !headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = empty(StatusCode::NO_CONTENT);
    let answer = response.headers_mut();
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    // Names of headers are not known in advance: a tool's arguments may be mirrored in them.
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    allow(&mut response, origin);
    Some(response)
}

/// Lets pages of that origin read the answer.
pub(super) fn allow(response: &mut Response, origin: &HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// The names under which a server is reached by whoever sits on its machine, and its own
/// address. Without a port if it is the scheme's own, as clients leave that out.
fn own_names(bound: Option<SocketAddr>, tls: bool) -> Vec<String> {
    let Some(bound) = bound else { return vec!["localhost".into()] };
    let ip = bound.ip().to_canonical();
    let mut names = Vec::new();
    if ip.is_loopback() || ip.is_unspecified() {
        names.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()]);
    }
    if !ip.is_unspecified() {
        names.push(match ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
    }
    let default_port = if tls { 443 } else { 80 };
    let with_port: Vec<String> = names.iter().map(|name| format!("{name}:{}", bound.port())).collect();
    if bound.port() == default_port { [names, with_port].concat() } else { with_port }
}

/// The value of a header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        _ => Err(forbidden("header_repeated", &format!("there is more than one {name} header"))),
    }
}

/// Names and schemes are the same in either case.
fn is_among(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Bytes that are no ASCII are in no list.
fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

fn host_not_allowed() -> Refusal {
    let detail = "this Host is not one of the server's names; server.http.allowed-hosts adds to them";
    forbidden("host_not_allowed", detail)
}

fn origin_not_allowed() -> Refusal {
    let detail = "pages of this Origin may not use the server; server.http.allowed-origins adds to those that may";
    forbidden("origin_not_allowed", detail)
}

fn forbidden(reason: &'static str, detail: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, reason, detail)
}

#[cfg(test)]
mod tests;

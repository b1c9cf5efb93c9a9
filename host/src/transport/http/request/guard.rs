//! Checks `Host` and `Origin`: the protection against web pages that access servers on the user's
//! machine (DNS rebinding, cross-site requests).
//!
//! Only whole names are compared. It reads headers and no body.
//! Source: MCP 2026-07-28, basic/transports/streamable-http, "Security"; RFC 6454, section 6.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};

use crate::transport::http::responses::{ErrorResponse, empty};
use crate::transport::http::{Response, Settings};

/// The response headers that a page of an allowed origin may read.
const EXPOSED: &str = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After";
const METHODS: &str = "GET, POST, DELETE";

pub(super) struct Guard {
    /// Allowed values of `Host`.
    hosts: Vec<String>,
    /// Allowed values of `Origin`.
    origins: Vec<String>,
    /// The allowed origins of other sites, which get CORS headers.
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

    /// Allows health probes that address the server by one of its names, by any IP address (as
    /// supervisors do) or without `Host`.
    ///
    /// # Errors
    /// 403 for other names, and for origins that are not allowed.
    pub(super) fn check_probe(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
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

    /// Allows a request by the name of the server, whatever page sends it.
    ///
    /// # Errors
    /// 403 if `Host` is not on the list.
    pub(super) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let host = only(headers, &header::HOST)?.ok_or_else(|| forbidden("host_missing", "there is no Host header"))?;
        // An absolute-form target overrides the header (RFC 9112, section 3.2.2).
        let target = uri.authority().map(|authority| authority.as_str());
        for name in std::iter::once(text(host)).chain(target) {
            if !is_among(&self.hosts, name) {
                return Err(host_not_allowed());
            }
        }
        Ok(())
    }

    /// Allows a request; returns its origin if that is another site, which may read the response.
    ///
    /// # Errors
    /// 403 if `Host` or `Origin` is not on the list.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<HeaderValue>, ErrorResponse> {
        self.check_host(uri, headers)?;
        let Some(origin) = only(headers, &header::ORIGIN)? else { return Ok(None) };
        let name = text(origin);
        if !is_among(&self.origins, name) {
            return Err(origin_not_allowed());
        }
        Ok(is_among(&self.foreign, name).then(|| origin.clone()))
    }
}

/// Whether a `Host` is an IP address. A page that attacks by DNS rebinding sends a name.
fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse::<IpAddr>().is_ok() || host.parse::<SocketAddr>().is_ok()
}

/// Whether a `Host` is an IP address or `localhost`: a page of another site cannot have those names.
pub(in crate::transport) fn is_address_or_localhost(name: &str) -> bool {
    let host = name.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(name, |(host, _)| host);
    host.eq_ignore_ascii_case("localhost") || is_address(name)
}

/// The response to a CORS preflight request; `None` if it is not one.
pub(super) fn preflight(method: &Method, headers: &HeaderMap, origin: &HeaderValue) -> Option<Response> {
    if method != Method::OPTIONS || !headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = preflight_of(METHODS, headers);
    allow(&mut response, origin);
    Some(response)
}

/// What may be sent, without from where.
pub(super) fn preflight_of(methods: &'static str, headers: &HeaderMap) -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    let answer = response.headers_mut();
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    // Header names are not known in advance: they may mirror a tool's arguments.
    if let Some(requested) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

/// Allows pages of that origin to read the response.
pub(super) fn allow(response: &mut Response, origin: &HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// The names of the server on its own machine, and its address. Without the port too if it is the
/// scheme's default, which clients omit.
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

/// The value of a header that must not be repeated.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ErrorResponse> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        _ => Err(forbidden("header_repeated", &format!("there is more than one {name} header"))),
    }
}

/// Names and schemes are case-insensitive.
fn is_among(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// An empty text for a value that is not ASCII: it is never allowed.
fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

fn host_not_allowed() -> ErrorResponse {
    let detail = "this Host is not one of the server's names; add it to server.http.allowed-hosts";
    forbidden("host_not_allowed", detail)
}

fn origin_not_allowed() -> ErrorResponse {
    let detail = "pages of this Origin may not use the server; add it to server.http.allowed-origins to allow them";
    forbidden("origin_not_allowed", detail)
}

fn forbidden(reason: &'static str, detail: &str) -> ErrorResponse {
    ErrorResponse::new(StatusCode::FORBIDDEN, reason, detail)
}

#[cfg(test)]
mod tests;

//! Addresses of servers, as the file has them: of this one, of its listeners for operators, and of those that it asks.

use std::net::{IpAddr, SocketAddr};

use fluent_uri::Uri;

use super::error::WrongValue;
use crate::os::sockets::Address;

/// Maximum bytes of a URL, and of another text: some of them are sent with every challenge.
pub(super) const MAX_TEXT: usize = 512;

/// Where operators find something: an IP address or `localhost`, and a port, which only this machine reaches without a
/// token. `table`: that of the address and the token; `example`: an address.
///
/// # Errors
/// What is wrong with it, and what to write.
pub(super) fn operators(
    text: &str,
    table: &str,
    example: &str,
    has_token: bool,
) -> Result<SocketAddr, (String, String)> {
    let Some(address) = tcp(text) else {
        let why = format!("expected an IP address or localhost, and a port, found {text:?}");
        return Err((why, format!("write it like this: address = \"{example}\"")));
    };
    if !address.ip().to_canonical().is_loopback() && !has_token {
        let why = format!("needs a token, since other machines can connect: {address}");
        return Err((why, format!("set {table}.token, or write address = \"{example}\"")));
    }
    Ok(address)
}

/// The address of a listener over TCP, as that of clients is written: `localhost` is 127.0.0.1.
pub(super) fn tcp(text: &str) -> Option<SocketAddr> {
    match text.parse() {
        Ok(Address::Tcp(address)) => Some(address),
        _ => None,
    }
}

/// Checks the value of that key: what clients are given as the address of this server.
///
/// # Errors
/// If it is not the canonical URI of a server.
pub(super) fn check_address(key: &str, uri: &str) -> Result<(), WrongValue> {
    let wrong = |why: String, hint: String| Err(WrongValue::at(&[key], why).hint(hint));
    match canonical(uri) {
        Some(canonical) if canonical == uri => Ok(()),
        Some(canonical) => wrong(format!("not in its canonical form: {uri:?}"), format!("write {key} = {canonical:?}")),
        None if web_uri(uri).is_some() => {
            // Documents about it are found by its path alone.
            let path = uri.split(['?', '#']).next().unwrap_or_default();
            let hint = format!("write {key} = {:?}", canonical(path).as_deref().unwrap_or(path));
            wrong(format!("has a query or a fragment: {uri:?}"), hint)
        }
        None => {
            let hint = "write what clients are given as the address: \"https://tools.example/mcp\"";
            wrong(format!("not an http or https URI: {uri:?}"), hint.to_owned())
        }
    }
}

/// The canonical form of a server's URI; `None` if it cannot be one.
/// Source: MCP 2026-07-28, basic/authorization, "Canonical Server URI".
fn canonical(text: &str) -> Option<String> {
    let uri = web_uri(text).filter(|uri| !uri.has_query() && !uri.has_fragment())?;
    let normal = uri.normalize();
    Some(normal.as_str().trim_end_matches('/').to_owned())
}

/// An http or https URI with a host and without a user. Its grammar has no character that would need an
/// escape in a header field (RFC 3986).
pub(super) fn web_uri(text: &str) -> Option<Uri<&str>> {
    let uri = Uri::parse(text).ok().filter(|_| is_text(text))?;
    let authority = uri.authority().filter(|authority| !authority.has_userinfo() && !authority.host().is_empty())?;
    let has_port = authority.port().is_none_or(|port| port.as_str().parse::<u16>().is_ok_and(|port| port > 0));
    let scheme = uri.scheme().as_str();
    (has_port && (scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http"))).then_some(uri)
}

/// What the server itself asks: over TLS, or this machine.
pub(super) fn is_fetched(text: &str) -> bool {
    let Some(uri) = web_uri(text).filter(|uri| !uri.has_fragment()) else { return false };
    uri.scheme().as_str() == "https"
        || uri.scheme().as_str() == "http" && uri.authority().is_some_and(|a| is_loopback(a.host()))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

pub(super) fn is_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len()) && !text.contains(char::is_control)
}

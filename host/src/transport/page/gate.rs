//! Who is let in: by the token, by the name of the server, and only pages of its own.
//!
//! The token is in a header that no other page can send. So there is no cookie, which browsers would also send to
//! other ports of the same machine, and with requests of other pages.
//! Source: Fetch Metadata Request Headers; RFC 6454, section 6.

use std::net::SocketAddr;

use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use http::{StatusCode, Uri};

use super::answer::Refused;
use crate::identity::TokenHash;
use crate::transport::http::{bearer, is_address_or_localhost};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) struct Gate {
    token: TokenHash,
    /// Only this machine can connect, and so no name but its own is meant.
    is_local: bool,
}

impl Gate {
    pub(super) fn new(bound: SocketAddr, token: TokenHash) -> Self {
        Self { token, is_local: bound.ip().to_canonical().is_loopback() }
    }

    /// # Errors
    /// 403 for a name that a page of another site may have given this address (DNS rebinding); 400 without a name.
    pub(super) fn check_host(&self, head: &Parts) -> Result<(), Refused> {
        let host = host(&head.uri, &head.headers)?;
        if self.is_local && !is_address_or_localhost(host) {
            let error = "use the page by this name: write 127.0.0.1 or localhost in its address";
            return Err(Refused::new(StatusCode::FORBIDDEN, error));
        }
        Ok(())
    }

    /// # Errors
    /// 403 for requests of pages of other sites, 401 without the token.
    pub(super) fn check(&self, head: &Parts) -> Result<(), Refused> {
        let other_site = || Refused::new(StatusCode::FORBIDDEN, "use the server from a page of another site");
        if only(&head.headers, &SEC_FETCH_SITE)?.is_some_and(|site| site != "same-origin") {
            return Err(other_site());
        }
        if let Some(origin) = only(&head.headers, &header::ORIGIN)? {
            let host = host(&head.uri, &head.headers)?;
            let scheme = origin.strip_suffix(host).unwrap_or_default();
            // A proxy before the server may speak TLS.
            if scheme != "http://" && scheme != "https://" {
                return Err(other_site());
            }
        }
        let sent = bearer(&head.uri, &head.headers);
        if sent.is_ok_and(|sent| sent.is_some_and(|sent| TokenHash::of(sent) == self.token)) {
            return Ok(());
        }
        Err(Refused::new(StatusCode::UNAUTHORIZED, "recognize the token: open the address that the server printed"))
    }
}

/// By what name the server is called.
fn host<'a>(uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Refused> {
    let named = only(headers, &header::HOST)?;
    // An absolute-form target overrides the header (RFC 9112, section 3.2.2).
    let target = uri.authority().map(|authority| authority.as_str());
    match (named, target) {
        (Some(named), Some(target)) if named != target => Err(malformed("Host")),
        (Some(named), _) => Ok(named),
        (None, _) => Err(malformed("Host")),
    }
}

/// The value of a header that must not be repeated.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| malformed(name.as_str())),
        (Some(_), Some(_)) => Err(malformed(name.as_str())),
    }
}

fn malformed(name: &str) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, format!("read the header {name}: it is missing, repeated or malformed"))
}

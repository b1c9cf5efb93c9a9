//! The target of a request: scheme, host, port and path, normalized for comparison.
//!
//! Resolves nothing and decides nothing. A URL that two programs could parse differently is
//! rejected, not repaired.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;
use http::uri::{Authority, Scheme};

use super::address::is_public;

/// Maximum bytes of a host name and of one label: RFC 1035, section 2.3.4.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// A scheme, a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub https: bool,
    pub host: Host,
    pub port: u16,
}

/// A normalized host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Lower-case ASCII without a trailing dot.
    Name(String),
    Address(IpAddr),
}

impl Target {
    /// The target of an absolute URI.
    pub fn of(uri: &Uri) -> Result<Self, &'static str> {
        let https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err("it does not begin with https:// or http://"),
        };
        Self::at(https, uri.authority().ok_or("it names no host")?)
    }

    /// The target of an authority under that scheme.
    pub fn at(https: bool, authority: &Authority) -> Result<Self, &'static str> {
        if authority.as_str().contains('@') {
            return Err("it has user information");
        }
        let host = authority.host();
        let port = match authority.as_str().strip_prefix(host) {
            Some("") => default_port(https),
            Some(rest) => {
                let digits = rest.strip_prefix(':').filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
                let port = digits.and_then(|digits| digits.parse().ok()).filter(|port| *port > 0);
                port.ok_or("its port is invalid")?
            }
            None => return Err("its host and port cannot be separated"),
        };
        Ok(Self { https, host: Host::parse(host)?, port })
    }

    /// Whether it is known without a lookup not to have a public address. A name is never looked
    /// up for that: a plugin without a grant could send data in the lookup. RFC 6761, section 6.3.
    pub fn is_private(&self) -> bool {
        match &self.host {
            Host::Address(address) => !is_public(*address),
            Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
        }
    }

    /// As in the `Host` field: without the scheme's default port.
    pub fn authority(&self) -> String {
        if self.port == default_port(self.https) {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.https { "https" } else { "http" }, self.authority())
    }
}

fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

impl Host {
    fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(rest) = text.strip_prefix('[') {
            let address = rest.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
            return Ok(Self::Address(address.ok_or("its host is not an IPv6 address")?.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if let Ok(address) = name.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let mut labels = name.split('.');
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_label = |label: &str| (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(plain);
        if name.len() > MAX_NAME || !labels.clone().all(is_label) {
            return Err("its host is not a valid name: internationalized names are written in punycode, xn--…");
        }
        // Resolvers parse 127.1, 017700000001 and 0x7f.1 as addresses.
        if labels.next_back().is_some_and(is_number) {
            return Err("its host is a number and not a dotted IPv4 address");
        }
        Ok(Self::Name(name))
    }
}

fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hexadecimal || label.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// The path without `.` and `..`: RFC 3986, section 5.2.4. It starts with `/`.
pub fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Whether a server may see other segments in it: encoded dots and slashes, also encoded twice,
/// backslashes, and dots with parameters (`..;a=b`).
pub fn is_ambiguous(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let encoded = ["%2e", "%2f", "%5c", "%252e", "%252f", "%255c", "\\"];
    encoded.iter().any(|code| path.contains(code))
        || path.split('/').any(|segment| segment.starts_with("..;") || segment.starts_with(".;"))
}

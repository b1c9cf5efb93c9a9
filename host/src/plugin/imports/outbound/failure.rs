//! Why a request has no response, as text for plugins: without addresses and secrets.

use std::fmt;

use crate::net::dial::DialError;

/// Why there is no response, or no more of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// No grant covers it; this one would.
    NotGranted(String),
    /// A grant covers it, but cannot be used.
    Unusable(String),
    /// The host's address is private, and the grant does not allow that.
    NotPublic,
    /// The request is invalid.
    Invalid(String),
    /// Too many exchanges are in progress.
    Busy,
    /// The name has no addresses.
    NoAddress,
    Connect(String),
    Tls(String),
    /// A timeout.
    Timeout(Stage),
    /// The request body has more than this many bytes.
    RequestTooLarge(u64),
    /// The response body has more than this many bytes.
    ResponseTooLarge(u64),
    Protocol(String),
    /// An error of the host; the details are in its log.
    Host,
}

/// The step that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// From the DNS lookup to the end of the handshake.
    Connect,
    /// Until the response head.
    FirstByte,
    /// The whole body, or its next frame.
    Body,
}

impl Failure {
    /// Which it is, for metrics and traces.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::NotGranted(_) => "not_granted",
            Self::Unusable(_) => "unusable",
            Self::NotPublic => "not_public",
            Self::Invalid(_) => "invalid",
            Self::Busy => "busy",
            Self::NoAddress => "no_address",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::Timeout(_) => "timeout",
            Self::RequestTooLarge(_) => "request_too_large",
            Self::ResponseTooLarge(_) => "response_too_large",
            Self::Protocol(_) => "protocol",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted(would) => write!(f, "no grant allows this request; this one would: {would}"),
            Self::Unusable(problem) => write!(f, "a grant allows this request, but {problem}"),
            Self::NotPublic => f.write_str(
                "the host is not at a public address, which its entry of the grant http allows only with private = true",
            ),
            Self::Invalid(why) => write!(f, "the request cannot be sent: {why}"),
            Self::Busy => f.write_str("too many requests of this plugin are in progress"),
            Self::NoAddress => f.write_str("the host's name has no address"),
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::Tls(why) => write!(f, "no TLS connection: {why}"),
            Self::Timeout(Stage::Connect) => f.write_str("the connection timed out"),
            Self::Timeout(Stage::FirstByte) => f.write_str("the response did not begin in time"),
            Self::Timeout(Stage::Body) => f.write_str("the response timed out"),
            Self::RequestTooLarge(limit) => write!(f, "the request's body has more than {limit} bytes"),
            Self::ResponseTooLarge(limit) => write!(f, "the response has more than {limit} bytes"),
            Self::Protocol(why) => write!(f, "the server violated the protocol: {why}"),
            Self::Host => f.write_str("internal error of the host"),
        }
    }
}

impl From<DialError> for Failure {
    fn from(error: DialError) -> Self {
        match error {
            DialError::NoAddress => Self::NoAddress,
            DialError::NotPublic => Self::NotPublic,
            DialError::Connect(why) => Self::Connect(why),
            DialError::Tls(why) => Self::Tls(why),
            DialError::Timeout => Self::Timeout(Stage::Connect),
        }
    }
}

impl std::error::Error for Failure {}

//! Why a registry did not give or take something.

use std::io;

use http::StatusCode;
use wharf_report::{bounded, line};

use crate::net::dial::DialError;
use crate::net::http::HttpError;

/// Reads after "failed to" and what was to be done.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is no response, or not one as it should be.
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{host} answered {status}{message}")]
    Status { host: String, status: StatusCode, message: String },
    /// It does not match its digest or size.
    #[error("{0}")]
    Changed(String),
    #[error("{host} took more than half an hour")]
    TooSlow { host: String },
    #[error("{0}")]
    Credentials(String),
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is there, and is no component.
    #[error("{0}")]
    NotAComponent(String),
    /// A layout has no such version.
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    Signature(String),
}

impl RegistryError {
    /// A response is not as the protocol says.
    pub(super) fn protocol(why: String) -> Self {
        HttpError::Protocol(why).into()
    }

    /// Something has more bytes than are read.
    pub(super) fn too_large(what: &'static str, limit: u64) -> Self {
        HttpError::TooLarge { what, limit }.into()
    }

    /// What a person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Status { status, host, .. }
                if *status == StatusCode::UNAUTHORIZED || *status == StatusCode::FORBIDDEN =>
            {
                return Some(format!(
                    "sign in with docker login {host} or podman login {host}, whose credentials are used; registries answer this \
                     also for what is not there"
                ));
            }
            Self::Status { status, .. } if *status == StatusCode::TOO_MANY_REQUESTS => "try again later, or sign in",
            Self::Http(HttpError::Private { .. }) => {
                "if you trust this registry with your network, set private = true under [registries.\"HOST\"] in the configuration"
            }
            Self::Http(HttpError::Connect { why: DialError::Tls(_), .. }) => {
                "for a registry with a certificate of your own, set SSL_CERT_FILE; for one without TLS, set http = true under \
                 [registries.\"HOST\"] in the configuration"
            }
            Self::TooSlow { .. } => "run the command again: it goes on where this one ended",
            Self::Http(HttpError::Connect { .. } | HttpError::Timeout { .. }) => {
                "check the name and the network; proxies are taken from HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether there is nothing of that name, or nothing that may be seen.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Status { status, .. } if *status == StatusCode::NOT_FOUND)
    }

    /// Whether the same request may succeed when it is sent again.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Http(HttpError::Timeout { .. } | HttpError::Protocol(_)) => true,
            Self::Http(HttpError::Connect { why, .. }) => matches!(why, DialError::Connect(_) | DialError::Timeout),
            Self::Status { status, .. } => status.is_server_error(),
            _ => false,
        }
    }
}

/// What a server says, in one line.
pub(super) fn said(text: &str) -> String {
    line(&bounded(text))
}

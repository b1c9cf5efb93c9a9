//! Responses with a whole body. That of an error is a JSON-RPC error, without an id where the message
//! has not been read. Source: MCP 2026-07-28, basic/transports/streamable-http, "Security".

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response as HttpResponse, StatusCode};
use http_body_util::{BodyExt as _, Full};

use super::{Body, Response};
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, RequestId};

/// The response to a refused request: status and error.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    status: StatusCode,
    reason: &'static str,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
    /// Set if the audit log has it.
    pub(super) recorded: Option<Recorded>,
}

/// As what the audit log has a refusal. Not a text, since `Err` is to be small.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recorded {
    Unauthorized,
    InsufficientScope,
    TooManyFailures,
}

impl Recorded {
    /// The code of its record.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::InsufficientScope => "insufficient-scope",
            Self::TooManyFailures => "too-many-failures",
        }
    }
}

impl ErrorResponse {
    /// `reason` as in `data.reason`, `detail` a lowercase fragment.
    pub(super) fn new(status: StatusCode, reason: &'static str, detail: impl Into<String>) -> Self {
        Self { status, reason, detail: detail.into(), header: None, recorded: None }
    }

    /// For a request that is incomplete at shutdown.
    pub(super) fn shutting_down() -> Self {
        let detail = "the server is shutting down and has not started this request";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", detail).header(header::CONNECTION, "close")
    }

    /// For a request whose token was revoked while it ran. The challenge is added later.
    pub(super) fn revoked() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "the bearer token was revoked")
    }

    /// The audit log has it, under this code.
    pub(super) fn recorded(self, code: Recorded) -> Self {
        Self { recorded: Some(code), ..self }
    }

    /// Adds a header that the status requires.
    pub(super) fn header(self, name: HeaderName, value: &'static str) -> Self {
        self.with(name, HeaderValue::from_static(value))
    }

    /// As [`Self::header`].
    pub(super) fn with(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// Whether the connection may be reused.
    pub(super) fn keeps_connection(&self) -> bool {
        self.header.as_ref().is_none_or(|(name, _)| name != header::CONNECTION)
    }
}

impl From<ErrorResponse> for Response {
    fn from(refusal: ErrorResponse) -> Self {
        let error = ErrorObject::invalid_request(refusal.reason, &refusal.detail);
        let mut response = json(refusal.status, encode::error(None, UnreadableId::Omit, &error));
        if let Some((name, value)) = refusal.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// An error about a message, with its id if known.
pub(super) fn refused(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> Response {
    json(status, encode::error(id, UnreadableId::Omit, error))
}

pub(super) fn too_many_streams(id: Option<&RequestId>) -> Response {
    busy(id, "too_many_streams", "there are too many open streams, retry later", "10")
}

/// 503 with `Retry-After`, in seconds.
pub(super) fn busy(id: Option<&RequestId>, reason: &str, detail: &str, seconds: &'static str) -> Response {
    let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, id, &ErrorObject::invalid_request(reason, detail));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
    response
}

/// A JSON response.
pub(super) fn json(status: StatusCode, text: impl Into<Bytes>) -> Response {
    with_type(status, "application/json", text)
}

/// A plain-text response.
pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response {
    with_type(status, "text/plain; charset=utf-8", text)
}

/// The refusal of a method where there is only a document.
pub(super) fn method_not_allowed(allowed: &'static str) -> Response {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = HttpResponse::new(full(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// A response of any other type.
pub(super) fn with_type(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Response {
    let mut response = HttpResponse::new(full(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn full(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}

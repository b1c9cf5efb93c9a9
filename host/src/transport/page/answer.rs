//! Answers of the page, and the headers that each of them has.

use std::convert::Infallible;

use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderName, HeaderValue};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};

use crate::json;

pub(super) type Response = http::Response<UnsyncBoxBody<Bytes, Infallible>>;

/// JSON, or why there is none.
pub type Answer = Result<String, Refused>;

/// Nothing is loaded from elsewhere, no script is in the page itself, and no other page shows it in a frame.
/// Source: Content Security Policy Level 3.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// On each response.
const SECURITY: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Why a request is refused.
#[derive(Debug)]
pub struct Refused {
    pub status: StatusCode,
    /// Reads after "failed to", or says what to send instead.
    pub error: String,
    pub hint: Option<String>,
    /// JSON of what is shown in place of an answer.
    pub shown: Option<String>,
}

impl Refused {
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), hint: None, shown: None }
    }

    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "answer: the log of the server says why")
    }
}

pub(super) fn json(text: impl Into<Bytes>) -> Response {
    whole(StatusCode::OK, "application/json", text)
}

pub(super) fn whole(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response {
    let mut response = http::Response::new(Full::new(text.into()).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn refusal(refused: &Refused) -> Response {
    let mut text = format!("{{\"error\":{}", json::quote(&refused.error));
    if let Some(hint) = &refused.hint {
        text += &format!(",\"hint\":{}", json::quote(hint));
    }
    if let Some(shown) = &refused.shown {
        text += &format!(",\"shown\":{shown}");
    }
    text.push('}');
    let mut response = whole(refused.status, "application/json", text);
    if refused.status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

pub(super) fn secured(mut response: Response) -> Response {
    for (name, value) in SECURITY {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

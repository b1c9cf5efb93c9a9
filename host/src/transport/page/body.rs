//! Reads the bodies of requests: JSON of a bounded size, within a bounded time.

use std::time::Duration;

use http::StatusCode;
use http::header::{self, HeaderMap};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::answer::Refused;

/// Bytes of a body: the arguments of a call, mostly.
pub(super) const MAX_BODY: usize = 1 << 20;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// # Errors
/// 415 unless it is JSON, which no form of another page can send.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Refused> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") && !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(());
    }
    Err(Refused::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "read the body: send it as application/json, unencoded"))
}

/// # Errors
/// 413 if it is too long, 408 if it takes too long, 400 if it is cut off or no text.
pub(super) async fn read(body: Incoming) -> Result<String, Refused> {
    let broken = || Refused::new(StatusCode::BAD_REQUEST, "read the body: it is incomplete, or no text");
    let read = timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect()).await;
    let read = read.map_err(|_| Refused::new(StatusCode::REQUEST_TIMEOUT, "read the body: it takes too long"))?;
    let bytes = read.map_err(|error| match error.downcast::<http_body_util::LengthLimitError>() {
        Ok(_) => {
            let error = format!("read the body: it is longer than {MAX_BODY} bytes");
            Refused::new(StatusCode::PAYLOAD_TOO_LARGE, error)
        }
        Err(_) => broken(),
    })?;
    String::from_utf8(bytes.to_bytes().into()).map_err(|_| broken())
}

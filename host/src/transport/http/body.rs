//! The body of a request: what may be sent, how much of it, and for how long.
//!
//! It does not look into the message.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap};
use http::{Request, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::refusal::Refusal;

/// How long the rest of a body is read that nobody wants, so that its sender comes to read why.
const DISCARD: Duration = Duration::from_secs(2);

/// Whether the headers promise one JSON text as it is. What a web page may send without asking
/// (forms, plain text) has another type.
///
/// # Errors
/// 415 otherwise.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let unsupported = |reason, detail| Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason, detail));
    let essence = |value: &[u8]| value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii().to_vec();
    let content_type = headers.get(header::CONTENT_TYPE).map(|value| essence(value.as_bytes()));
    if !content_type.is_some_and(|name| name.eq_ignore_ascii_case(b"application/json")) {
        return unsupported("content_type", "the Content-Type is not application/json");
    }
    // Nothing is unpacked: a few bytes could become gigabytes.
    let is_plain = |value: &http::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return unsupported("content_encoding", "a Content-Encoding is not taken; send the body as it is");
    }
    Ok(())
}

/// Reads the whole body, at most `limit` bytes and for at most `time`.
///
/// # Errors
/// 413 for more (before any of it is read, if its length was said), 408 if it takes longer, 400
/// if it breaks off.
pub(super) async fn read(body: &mut Incoming, limit: usize, time: Duration) -> Result<Bytes, Refusal> {
    let detail = || format!("the message is longer than the limit of {limit} bytes");
    let too_long = || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_long", detail());
    if body.size_hint().lower() > limit as u64 {
        return Err(too_long());
    }
    let gather = async {
        let mut all = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                tracing::debug!(%error, "a body broke off");
                Refusal::new(StatusCode::BAD_REQUEST, "body_broken", "the body broke off")
                    .header(header::CONNECTION, "close")
            })?;
            let Ok(bytes) = frame.into_data() else { continue };
            if all.len() + bytes.len() > limit {
                return Err(too_long());
            }
            all.extend_from_slice(&bytes);
        }
        Ok(all.freeze())
    };
    tokio::time::timeout(time, gather).await.unwrap_or_else(|_| {
        let detail = format!("the body took longer than {time:?}");
        let refusal = Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail);
        Err(refusal.header(header::CONNECTION, "close"))
    })
}

/// Reads, beside the answer, some of a body that was refused. If the connection were closed on
/// it, its sender would see a broken connection and no answer.
pub(super) fn discard(request: Request<Incoming>, limit: usize) {
    // Who asks first has not sent it, and is not to be told to.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return;
    }
    let mut body = request.into_body();
    tokio::spawn(tokio::time::timeout(DISCARD, async move {
        let mut seen = 0;
        while let Some(Ok(frame)) = body.frame().await {
            seen += frame.data_ref().map_or(0, Bytes::len);
            if seen > limit {
                return;
            }
        }
    }));
}

//! Reads request bodies: limits on type, size and time, and on the bytes of all bodies together.
//!
//! It does not look into the message.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::byte_budget::SMALL;
use crate::sync::lock;
use crate::transport::http::responses::ErrorResponse;

/// How long the rest of a refused body is read, so that its sender can read the response.
const DISCARD: Duration = Duration::from_secs(2);

/// Checks that the headers declare unencoded JSON. The types that a web page may send without a
/// preflight (forms, plain text) are refused.
///
/// # Errors
/// 415 otherwise.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let unsupported = |reason, detail| Err(ErrorResponse::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason, detail));
    let mut content_types = headers.get_all(header::CONTENT_TYPE).iter();
    let content_type = content_types.next().map_or(&[][..], HeaderValue::as_bytes);
    // A proxy may use another line than the server.
    if content_types.next().is_some() {
        return Err(ErrorResponse::new(StatusCode::BAD_REQUEST, "content_type", "the Content-Type header is repeated"));
    }
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    if !essence.eq_ignore_ascii_case(b"application/json") {
        return unsupported("content_type", "the Content-Type is not application/json");
    }
    // Nothing is decompressed: a few bytes could become gigabytes.
    let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(header::CONTENT_ENCODING).iter().all(is_plain) {
        return unsupported("content_encoding", "Content-Encoding is not supported; send the body unencoded");
    }
    Ok(())
}

/// Reads bodies, within the limits of one and of all together.
pub(super) struct Bodies {
    /// Maximum bytes of one body.
    limit: usize,
    /// For reading one body, and for waiting until its bytes are available.
    time: Duration,
    /// Maximum bytes of all large bodies.
    permits: Arc<Semaphore>,
    /// Maximum bytes of one caller's large bodies: three quarters of all, or one body.
    per_caller: usize,
    /// By caller, while it has large bodies.
    shares: Mutex<HashMap<Arc<str>, Weak<Semaphore>>>,
}

/// A body, and its reserved bytes until it is dropped.
#[derive(Default)]
struct BodyBuffer {
    bytes: BytesMut,
    permit: Option<BodyPermit>,
}

/// The caller's own limit first, so that a waiting caller does not block others.
struct BodyPermit {
    own: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

impl BodyPermit {
    fn shrink_to(&mut self, bytes: usize) {
        for permit in [&mut self.own, &mut self.of_all] {
            drop(permit.split(permit.num_permits() - bytes));
        }
    }
}

impl AsRef<[u8]> for BodyBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Bodies {
    /// `together`: bytes of all bodies of more than 64 KiB; no less than `limit`.
    pub(super) fn new(limit: usize, time: Duration, together: usize) -> Self {
        let permits = Arc::new(Semaphore::new(together));
        Self { limit, time, permits, per_caller: limit.max(together / 4 * 3), shares: Mutex::default() }
    }

    /// Reads the whole body. Reading pauses while other bodies use all bytes.
    ///
    /// # Errors
    /// 413 if it is too long (before any of it is read, if its length is declared), 408 if it takes
    /// too long, 503 if it waited as long for free bytes, 400 if it is incomplete.
    pub(super) async fn read(&self, body: &mut Incoming, caller: &Arc<str>) -> Result<Bytes, ErrorResponse> {
        let deadline = Instant::now() + self.time;
        let declared_size = body.size_hint();
        if declared_size.lower() > self.limit as u64 {
            return Err(self.too_long());
        }
        // The length of a chunked body is only known at its end.
        let declared = declared_size.upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(self.limit);
        let mut buffer = BodyBuffer::default();
        while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| self.too_slow())? {
            let frame = frame.map_err(|error| {
                tracing::debug!(%error, "incomplete body");
                ErrorResponse::new(StatusCode::BAD_REQUEST, "body_broken", "the body is incomplete")
                    .header(header::CONNECTION, "close")
            })?;
            let Ok(bytes) = frame.into_data() else { continue };
            let length = buffer.bytes.len() + bytes.len();
            if length > self.limit {
                return Err(self.too_long());
            }
            // Small bodies are bounded by the number of connections.
            if length > SMALL && buffer.permit.is_none() {
                buffer.permit = Some(self.reserve(declared, caller, deadline).await?);
                buffer.bytes.reserve(declared - buffer.bytes.len());
            }
            buffer.bytes.extend_from_slice(&bytes);
        }
        if let Some(permit) = &mut buffer.permit {
            // Releases what the chunks did not need.
            permit.shrink_to(buffer.bytes.len());
        }
        Ok(Bytes::from_owner(buffer))
    }

    async fn reserve(&self, bytes: usize, caller: &Arc<str>, deadline: Instant) -> Result<BodyPermit, ErrorResponse> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let share = self.share(caller);
        let permit = async {
            let own = share.acquire_many_owned(bytes).await.ok()?;
            Some(BodyPermit { own, of_all: self.permits.clone().acquire_many_owned(bytes).await.ok()? })
        };
        timeout_at(deadline, permit).await.ok().flatten().ok_or_else(|| {
            let detail = "too many large messages are being processed, retry later";
            let refusal = ErrorResponse::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_bodies", detail);
            refusal.header(header::RETRY_AFTER, "1")
        })
    }

    fn share(&self, caller: &Arc<str>) -> Arc<Semaphore> {
        let mut shares = lock(&self.shares);
        if let Some(share) = shares.get(caller).and_then(Weak::upgrade) {
            return share;
        }
        // The number of callers with bodies is bounded by the connections.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.per_caller));
        shares.insert(caller.clone(), Arc::downgrade(&share));
        share
    }

    fn too_long(&self) -> ErrorResponse {
        let detail = format!("the message is longer than the limit of {} bytes", self.limit);
        ErrorResponse::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_long", detail)
    }

    fn too_slow(&self) -> ErrorResponse {
        let detail = format!("the body took longer than {:?}", self.time);
        let refusal = ErrorResponse::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail);
        refusal.header(header::CONNECTION, "close")
    }
}

/// Reads some of a refused body while the response is sent. If the connection were closed, its
/// sender would see a broken connection instead of the response.
pub(super) fn discard(request: Request<Incoming>, limit: usize, stop: CancellationToken) {
    // With `Expect: 100-continue` the body has not been sent, and must not be asked for.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return;
    }
    let mut body = request.into_body();
    tokio::spawn(tokio::time::timeout(
        DISCARD,
        stop.run_until_cancelled_owned(async move {
            let mut seen = 0;
            while let Some(Ok(frame)) = body.frame().await {
                seen += frame.data_ref().map_or(0, Bytes::len);
                if seen > limit {
                    return;
                }
            }
        }),
    ));
}

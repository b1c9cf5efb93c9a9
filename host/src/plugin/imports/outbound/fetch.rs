//! The front end `wharf:plugin/http`: buffered requests and responses.

use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use tokio::time::{Instant, timeout_at};

use super::failure::{Failure, Stage};
use super::{GuestTimeouts, Sender, taped};
use crate::plugin::abi::{Http, HttpCalls, HttpError};
use crate::plugin::imports::state::GuestState;
use crate::plugin::policy::outbound::headers;

impl HttpCalls for GuestState {
    async fn fetch(&mut self, request: Http::Request) -> Result<Http::Response, HttpError> {
        let sender = Sender::of(self);
        let fetched = match sender.tape.clone() {
            None => fetch(sender, request).await,
            Some(tape) => {
                let (events, asked) = (sender.events.clone(), request.clone());
                taped::fetch(tape, events, &asked, fetch(sender, request)).await
            }
        };
        fetched.map_err(HttpError::from)
    }
}

pub(super) async fn fetch(sender: Sender, request: Http::Request) -> Result<Http::Response, Failure> {
    let caps = &sender.granted.http.outbound.caps;
    let asked = request.timeout_ms.map(|ms| Duration::from_millis(ms.into()));
    let whole = asked.unwrap_or(caps.whole).min(caps.whole);
    let until = Instant::now() + whole;
    if request.body.as_ref().is_some_and(|body| body.len() as u64 > caps.request) {
        return Err(Failure::RequestTooLarge(caps.request));
    }
    let request = parse(request, caps.headers)?;
    let exchange = async {
        let response = sender.send(request, GuestTimeouts { whole: Some(whole), ..GuestTimeouts::default() }).await?;
        let (mut parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes().into();
        headers::strip(&mut parts.headers, None);
        let fields = parts.headers.iter();
        let headers =
            fields.map(|(name, value)| Http::Header { name: name.as_str().into(), value: value.as_bytes().into() });
        Ok(Http::Response { status: parts.status.as_u16(), headers: headers.collect(), body })
    };
    timeout_at(until, exchange).await.unwrap_or(Err(Failure::Timeout(Stage::Body)))
}

fn parse(request: Http::Request, limit: usize) -> Result<Request<Full<Bytes>>, Failure> {
    let invalid = |why: &str| Failure::Invalid(why.into());
    let uri: Uri = request.url.parse().map_err(|_| invalid("its URL is invalid"))?;
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| invalid("its method is invalid"))?;
    if request.headers.len() > limit {
        return Err(invalid("it has too many header fields"));
    }
    let mut headers = HeaderMap::new();
    for field in request.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| invalid("a header name is invalid"))?;
        let value = HeaderValue::from_maybe_shared(Bytes::from(field.value));
        headers.append(name, value.map_err(|_| invalid("a header value is invalid"))?);
    }
    // The body is buffered, so its real length is known.
    headers.remove(CONTENT_LENGTH);
    let mut parsed = Request::new(Full::from(request.body.unwrap_or_default()));
    *parsed.method_mut() = method;
    *parsed.uri_mut() = uri;
    *parsed.headers_mut() = headers;
    Ok(parsed)
}

impl From<Failure> for HttpError {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        match failure {
            Failure::NotGranted(_) | Failure::Unusable(_) | Failure::NotPublic => Self::Denied(text),
            Failure::Invalid(_) | Failure::RequestTooLarge(_) => Self::Invalid(text),
            Failure::Busy | Failure::NoAddress | Failure::Connect(_) | Failure::Tls(_) | Failure::Host => {
                Self::Unreachable(text)
            }
            Failure::Timeout(_) => Self::Timeout,
            Failure::ResponseTooLarge(limit) => Self::TooLarge(limit),
            Failure::Protocol(_) => Self::Protocol(text),
        }
    }
}

//! Requests that go through the tape of their call. A replay sends nothing: it answers what was recorded.
//!
//! What is written down is the guest's own request: the host's header fields, which may have secrets, come later.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wasmtime_wasi_http::{Error, WasiBody};

use super::failure::{Failure, Stage};
use crate::plugin::abi::Http;
use crate::plugin::events::Events;
use crate::plugin::policy::access::Access;
use crate::plugin::policy::denial::Denial;
use crate::plugin::tape::kept::{Kept, member};
use crate::plugin::tape::{Answered, Asked, Part, Tape, Ticket};

type Fields = Vec<(String, Vec<u8>)>;

/// Maximum header fields of a recorded response, which anyone may have written.
const MAX_FIELDS: usize = 1024;

/// What `wasi:http` waits for after a response.
pub(super) type Sent = Box<dyn Future<Output = Result<(), Error>> + Send>;
/// A request of `wasi:http` on its way.
pub(super) type Sending = Box<dyn Future<Output = Result<(Response<WasiBody>, Sent), Error>> + Send>;

/// A request and its whole response; `real` sends it.
pub(super) async fn fetch(
    tape: Tape,
    events: Option<Arc<Events>>,
    request: &Http::Request,
    real: impl Future<Output = Result<Http::Response, Failure>>,
) -> Result<Http::Response, Failure> {
    let fields: Fields = request.headers.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
    let body = request.body.as_deref().unwrap_or_default();
    let head = json!({"method": request.method, "url": request.url, "headers": fields.keep()});
    let ticket = tape.request(Asked { head, body: Some(body) });
    if !tape.replays() {
        let fetched = real.await;
        if let Some(ticket) = ticket {
            keep(&tape, ticket, &fetched);
        }
        return fetched;
    }
    let Some(ticket) = ticket else { return std::future::pending().await };
    let (ticket, answered) = tape.answer(ticket, None);
    let (status, fields) = match answered {
        Answered::Never => return std::future::pending().await,
        Answered::Head(head) => read_head(events.as_deref(), &head)?,
    };
    let headers = fields.into_iter().map(|(name, value)| Http::Header { name, value }).collect();
    let mut body = Vec::new();
    for number in 0.. {
        match tape.part(ticket, number) {
            Some(Part::Chunk(chunk)) => body.extend_from_slice(&chunk),
            Some(Part::Trailers(_)) => {}
            Some(Part::Error(error)) => return Err(failure(&error)),
            Some(Part::End) | None => break,
        }
    }
    Ok(Http::Response { status, headers, body })
}

/// Writes down what was fetched.
fn keep(tape: &Tape, ticket: Ticket, fetched: &Result<Http::Response, Failure>) {
    match fetched {
        Ok(Http::Response { status, headers, body }) => {
            let fields: Fields = headers.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
            tape.answered(ticket, json!({"status": status, "headers": fields.keep()}));
            if !body.is_empty() {
                tape.read_part(ticket, Part::Chunk(Bytes::copy_from_slice(body)));
            }
            tape.read_part(ticket, Part::End);
        }
        Err(failure) => tape.answered(ticket, member("error", failure.keep())),
    }
}

/// A request whose bodies are streams; `real` sends it. It has its place on the tape when this returns, so that requests
/// at the same time are in order. `limit`: bytes of its body.
pub(super) fn send<B, F>(
    tape: Tape,
    events: Option<Arc<Events>>,
    limit: u64,
    request: Request<WasiBody>,
    real: impl FnOnce(Request<WasiBody>) -> F + Send + 'static,
) -> Sending
where
    B: Body<Data = Bytes, Error = Failure> + Send + Unpin + 'static,
    F: Future<Output = Result<Response<B>, Failure>> + Send,
{
    let head = json!({
        "method": request.method().as_str(),
        "url": request.uri().to_string(),
        "headers": fields(request.headers()).keep(),
    });
    let ticket = tape.request(Asked { head, body: None });
    if tape.replays() {
        return Box::new(async move {
            match ticket {
                Some(ticket) => replay(tape, ticket, (events, limit), request).await,
                None => std::future::pending().await,
            }
        });
    }
    Box::new(async move {
        let Some(ticket) = ticket else {
            let response = real(request).await?;
            return Ok(sent(response.map(|body| body.map_err(Error::from).boxed_unsync())));
        };
        let told = tape.clone();
        let request = request.map(|body| {
            let told = move |frame: Frame<Bytes>| {
                frame.data_ref().into_iter().for_each(|data| told.sent(ticket, data));
                frame
            };
            body.map_frame(told).boxed_unsync()
        });
        match real(request).await {
            Ok(response) => {
                let head = json!({"status": response.status().as_u16(), "headers": fields(response.headers()).keep()});
                tape.answered(ticket, head);
                Ok(sent(response.map(|body| Watched { body, tape, ticket }.map_err(Error::from).boxed_unsync())))
            }
            Err(failure) => {
                tape.answered(ticket, member("error", failure.keep()));
                Err(failure.into())
            }
        }
    })
}

fn sent(response: Response<WasiBody>) -> (Response<WasiBody>, Sent) {
    (response, Box::new(async { Ok(()) }))
}

async fn replay(
    tape: Tape,
    ticket: Ticket,
    (events, limit): (Option<Arc<Events>>, u64),
    request: Request<WasiBody>,
) -> Result<(Response<WasiBody>, Sent), Error> {
    // The answer may depend on the whole body. One that is over a limit was answered before its end.
    let mut body = request.into_body();
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { break };
        let Some(data) = frame.data_ref() else { continue };
        tape.sent(ticket, data);
        whole.extend_from_slice(data);
        if whole.len() as u64 > limit {
            break;
        }
    }
    let (ticket, answered) = tape.answer(ticket, Some(&whole));
    let Answered::Head(head) = answered else { return std::future::pending().await };
    let (status, fields) = read_head(events.as_deref(), &head)?;
    let mut response = Response::new(Played { tape, ticket, number: 0, is_over: false }.boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    *response.headers_mut() = header_map(&fields);
    Ok(sent(response))
}

/// The status and the header fields of a recorded response, or why there is none.
fn read_head(events: Option<&Events>, head: &Value) -> Result<(u16, Fields), Failure> {
    if let Some(error) = head.get("error") {
        let failure = failure(error);
        let problem = match &failure {
            Failure::NotGranted(_) | Failure::NotPublic => Some(None),
            Failure::Unusable(problem) => Some(Some(problem.clone())),
            _ => None,
        };
        if let (Some(events), Some(problem)) = (events, problem) {
            events.deny(Denial { access: Access::Http, problem });
        }
        return Err(failure);
    }
    let status = head["status"].as_u64().and_then(|status| status.try_into().ok());
    status.zip(Fields::read(&head["headers"])).ok_or(Failure::Host)
}

fn fields(map: &HeaderMap) -> Fields {
    map.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}

fn header_map(fields: &Fields) -> HeaderMap {
    let field = |(name, value): &(String, Vec<u8>)| {
        Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::from_bytes(value).ok()?))
    };
    let mut map = HeaderMap::new();
    // A map panics at some tens of thousands.
    for (name, value) in fields.iter().filter_map(field).take(MAX_FIELDS) {
        map.append(name, value);
    }
    map
}

/// The body of a response that is written down as far as it is read.
struct Watched<B> {
    body: B,
    tape: Tape,
    ticket: Ticket,
}

impl<B: Body<Data = Bytes, Error = Failure> + Unpin> Body for Watched<B> {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let part = match &frame {
            Some(Ok(frame)) => match (frame.data_ref(), frame.trailers_ref()) {
                (Some(data), _) => Part::Chunk(data.clone()),
                (None, Some(trailers)) => Part::Trailers(fields(trailers)),
                (None, None) => return Poll::Ready(None),
            },
            Some(Err(failure)) => Part::Error(failure.keep()),
            None => Part::End,
        };
        self.tape.read_part(self.ticket, part);
        Poll::Ready(frame)
    }
}

/// A recorded body.
struct Played {
    tape: Tape,
    ticket: Ticket,
    number: usize,
    is_over: bool,
}

impl Body for Played {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let part = self.tape.part(self.ticket, self.number);
        self.number += 1;
        self.is_over = !matches!(part, Some(Part::Chunk(_)));
        Poll::Ready(match part {
            Some(Part::Chunk(chunk)) => Some(Ok(Frame::data(chunk))),
            Some(Part::Trailers(fields)) => Some(Ok(Frame::trailers(header_map(&fields)))),
            Some(Part::Error(error)) => Some(Err(failure(&error).into())),
            Some(Part::End) => None,
            None => Some(Err(Error::HttpResponseTimeout)),
        })
    }
}

/// A failure of a recording.
fn failure(value: &Value) -> Failure {
    Failure::read(value).unwrap_or(Failure::Host)
}

impl Kept for Failure {
    fn keep(&self) -> Value {
        let detail = match self {
            Self::NotGranted(text)
            | Self::Unusable(text)
            | Self::Invalid(text)
            | Self::Connect(text)
            | Self::Tls(text)
            | Self::Protocol(text) => text.keep(),
            Self::RequestTooLarge(limit) | Self::ResponseTooLarge(limit) => limit.keep(),
            Self::Timeout(Stage::Connect) => "connect".into(),
            Self::Timeout(Stage::FirstByte) => "first_byte".into(),
            Self::Timeout(Stage::Body) => "body".into(),
            Self::NotPublic | Self::Busy | Self::NoAddress | Self::Host => Value::Null,
        };
        member(self.kind(), detail)
    }

    fn read(value: &Value) -> Option<Self> {
        let (kind, detail) = value.as_object()?.iter().next()?;
        let text = || String::read(detail);
        Some(match kind.as_str() {
            "not_granted" => Self::NotGranted(text()?),
            "unusable" => Self::Unusable(text()?),
            "not_public" => Self::NotPublic,
            "invalid" => Self::Invalid(text()?),
            "busy" => Self::Busy,
            "no_address" => Self::NoAddress,
            "connect" => Self::Connect(text()?),
            "tls" => Self::Tls(text()?),
            "timeout" => Self::Timeout(match detail.as_str()? {
                "connect" => Stage::Connect,
                "first_byte" => Stage::FirstByte,
                "body" => Stage::Body,
                _ => return None,
            }),
            "request_too_large" => Self::RequestTooLarge(u64::read(detail)?),
            "response_too_large" => Self::ResponseTooLarge(u64::read(detail)?),
            "protocol" => Self::Protocol(text()?),
            "host" => Self::Host,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_read_as_they_were() {
        let all = [
            Failure::NotGranted("a".into()),
            Failure::Unusable("b".into()),
            Failure::NotPublic,
            Failure::Invalid("c".into()),
            Failure::Busy,
            Failure::NoAddress,
            Failure::Connect("d".into()),
            Failure::Tls("e".into()),
            Failure::Timeout(Stage::Connect),
            Failure::Timeout(Stage::FirstByte),
            Failure::Timeout(Stage::Body),
            Failure::RequestTooLarge(1),
            Failure::ResponseTooLarge(2),
            Failure::Protocol("f".into()),
            Failure::Host,
        ];
        for failure in all {
            assert_eq!(Failure::read(&failure.keep()), Some(failure));
        }
        assert_eq!(Failure::read(&json!({"timeout": "never"})), None);
    }
}

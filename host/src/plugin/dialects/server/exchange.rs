//! One request of HTTP to an instance, and its response, within limits.
//!
//! The guest runs only while its response is read: it is stopped when the answer is complete, or over its limit.

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Full};
use tokio::sync::oneshot;
use tokio::task::unconstrained;
use wasmtime::Store;
use wasmtime::component::Resource;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::p2::types::{HostIncomingRequest, HostResponseOutparam};
use wasmtime_wasi_http::{Error, WasiHttpView as _, p3};

use super::message::SESSION;
use super::reply::{Answer, Events, answer};
use crate::plugin::fault::Fault;
use crate::plugin::imports::state::GuestState;
use crate::plugin::instance::function::{BoundInstance, Function};

/// How a component is given a request.
#[derive(Clone)]
pub(super) enum Handler {
    /// `handle` of `wasi:http/incoming-handler@0.2`.
    Incoming(Function<(Resource<HostIncomingRequest>, Resource<HostResponseOutparam>), ()>),
    /// `handle` of `wasi:http/handler@0.3`.
    Handle(Handle),
}

type Handle =
    Function<(Resource<p3::Request>,), (Result<Resource<p3::Response>, p3::bindings::http::types::ErrorCode>,)>;

/// Bytes of a body besides its result: the names of members, and other events.
const SLACK: u64 = 64 << 10;

/// What is wanted of a response.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The id of the request; `None`: it is a notification, of which only the status counts.
    pub(super) id: Option<u64>,
    /// Bytes of the result in its body.
    pub(super) limit: u64,
    /// Whether the instance is not needed any more after that.
    pub(super) is_last: bool,
}

impl Wanted {
    /// Bytes of the body: more than those of the result, whose texts are escaped and whose bytes are in base64.
    fn body_limit(self) -> u64 {
        self.limit.saturating_mul(2).saturating_add(SLACK)
    }
}

/// What a server responded.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) session: Option<HeaderValue>,
    /// `None`: there is none, as of a notification.
    pub(super) answer: Option<Answer>,
}

/// Why a response is of no use.
pub(super) enum Failed {
    Fault(Fault),
    /// It is no MCP at all; so with another path, perhaps.
    NotMcp(StatusCode),
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn bad<T>(why: impl Into<String>) -> Result<T, Failed> {
    Err(Failed::Fault(Fault::BadOutput(why.into())))
}

/// Sends a request to an instance.
pub(super) async fn exchange(
    store: &mut Store<GuestState>,
    instance: &BoundInstance,
    handler: &Handler,
    request: Request<Full<Bytes>>,
    wanted: Wanted,
) -> wasmtime::Result<Result<Reply, Failed>> {
    let handler = match handler {
        Handler::Incoming(handler) => handler,
        Handler::Handle(handler) => return handled(store, instance, handler, request, wanted).await,
    };
    let (sender, receiver) = oneshot::channel();
    let incoming = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
    let outgoing = store.data_mut().http().new_response_outparam(sender)?;
    let handle = instance.function(&mut *store, handler)?;
    let mut reading = Box::pin(received(receiver, wanted));
    let call = Box::pin(handle.call_async(&mut *store, (incoming, outgoing)));
    match select(call, &mut reading).await {
        // All that it wrote is here: what is missing now never comes.
        Either::Left((called, _)) => {
            called?;
            let unfinished = || bad("a response without an end");
            Ok(unconstrained(reading).now_or_never().unwrap_or_else(unfinished))
        }
        Either::Right((Ok(reply), call)) if !wanted.is_last => {
            call.await?;
            Ok(Ok(reply))
        }
        Either::Right((ended, _)) => Ok(ended),
    }
}

/// The same in 0.3.
async fn handled(
    store: &mut Store<GuestState>,
    instance: &BoundInstance,
    handler: &Handle,
    request: Request<Full<Bytes>>,
    wanted: Wanted,
) -> wasmtime::Result<Result<Reply, Failed>> {
    let request = request.map(|body| body.map_err(|never| -> Error { match never {} }));
    let (request, _sent) = p3::Request::from_http(store.data_mut().http().hooks, request);
    let request = store.data_mut().table().push(request)?;
    let handle = instance.function(&mut *store, handler)?;
    let exchanging = store.run_concurrent(async |accessor| {
        let (response,) = handle.call_concurrent(accessor, (request,)).await?;
        let Ok(response) = response else { return Ok(bad(AN_ERROR)) };
        let response = accessor.with(|mut access| {
            let response = access.data_mut().table().delete(response)?;
            response.into_http(access, async { Ok(()) })
        })?;
        Ok(read(response, wanted).await)
    });
    exchanging.await?
}

const AN_ERROR: &str = "an error of HTTP in place of a response";

type Sent = Result<Response<HyperOutgoingBody>, ErrorCode>;

async fn received(response: oneshot::Receiver<Sent>, wanted: Wanted) -> Result<Reply, Failed> {
    match response.await {
        Ok(Ok(response)) => read(response, wanted).await,
        Ok(Err(_)) => bad(AN_ERROR),
        Err(_) => bad("no response"),
    }
}

async fn read<B: Body<Data = Bytes> + Unpin>(response: Response<B>, wanted: Wanted) -> Result<Reply, Failed> {
    let (head, mut body) = response.into_parts();
    let status = head.status;
    if status.is_redirection() {
        return bad(format!("a redirection, which is not followed: HTTP status {}", status.as_u16()));
    }
    let session = head.headers.get(SESSION).cloned();
    let Some(id) = wanted.id else { return Ok(Reply { status, session, answer: None }) };
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_stream = kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream");
    let (mut events, mut whole, mut seen) = (Events::default(), Vec::new(), 0u64);
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return bad("a body that was not finished") };
        let Ok(part) = frame.into_data() else { continue };
        seen += part.len() as u64;
        if seen > wanted.body_limit() {
            return Err(Fault::OutputTooLarge { limit: wanted.limit }.into());
        }
        if !is_stream {
            whole.extend_from_slice(&part);
            continue;
        }
        for data in events.push(&part) {
            if let Some(answer) = answer(&data, id).or_else(bad)? {
                return Ok(Reply { status, session, answer: Some(answer) });
            }
        }
    }
    match answer(&whole, id) {
        _ if is_stream => bad("a stream of events without the answer"),
        Ok(Some(answer)) => Ok(Reply { status, session, answer: Some(answer) }),
        // What a router says of an unknown path, or a page.
        _ if !status.is_success() => Err(Failed::NotMcp(status)),
        Ok(None) => bad("a message that does not answer the request"),
        Err(why) => bad(why),
    }
}

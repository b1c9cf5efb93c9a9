//! The front end `wasi:http/outgoing-handler`: bodies are streamed.

use http::Request;
use http_body_util::BodyExt as _;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks};

use super::failure::{Failure, Stage};
use super::taped::{self, Sending, Sent};
use super::{GuestTimeouts, Sender};
use crate::plugin::imports::state::GuestState;

/// Maximum bytes of the header fields of one message, with their overhead in memory.
const MAX_FIELDS: usize = 64 << 10;
/// Maximum buffered bytes of one request body. A guest may have as many bodies as handles.
const MAX_CHUNK: usize = 64 << 10;

/// The WASI context of a guest's requests.
pub(in crate::plugin) struct WasiHttp {
    pub(in crate::plugin) context: WasiHttpCtx,
    pub(in crate::plugin) hooks: Hooks,
}

impl WasiHttp {
    pub(in crate::plugin) fn of(state: &GuestState) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { context, hooks: Hooks(Sender::of(state)) }
    }
}

pub(in crate::plugin) struct Hooks(pub(super) Sender);

impl WasiHttpHooks for Hooks {
    /// The host sets the field itself, where the target is known.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(&mut self, request: Request<WasiBody>, options: Option<RequestOptions>, _: Sent) -> Sending {
        let options = options.unwrap_or_default();
        let timeouts = GuestTimeouts {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between: options.between_bytes_timeout,
            whole: None,
        };
        let sender = self.0.clone();
        if let Some(tape) = sender.tape.clone() {
            let (events, limit) = (sender.events.clone(), sender.granted.http.outbound.caps.request);
            return taped::send(tape, events, limit, request, move |request| sender.send(request, timeouts));
        }
        Box::new(async move {
            let response = sender.send(request, timeouts).await.map_err(Error::from)?;
            let sent: Sent = Box::new(async { Ok(()) });
            Ok((response.map(|body| body.map_err(Error::from).boxed_unsync()), sent))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_CHUNK
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotGranted(_) | Failure::Unusable(_) => Self::HttpRequestDenied,
            Failure::NotPublic => Self::DestinationIpProhibited,
            Failure::Invalid(_) => Self::HttpRequestUriInvalid,
            Failure::Busy => Self::ConnectionLimitReached,
            Failure::NoAddress => Self::DnsError { rcode: None, info_code: None },
            Failure::Connect(_) => Self::ConnectionRefused,
            Failure::Tls(_) => Self::TlsProtocolError,
            Failure::Timeout(Stage::Connect) => Self::ConnectionTimeout,
            Failure::Timeout(Stage::FirstByte) => Self::ConnectionReadTimeout,
            Failure::Timeout(Stage::Body) => Self::HttpResponseTimeout,
            Failure::RequestTooLarge(limit) => Self::HttpRequestBodySize(Some(limit)),
            Failure::ResponseTooLarge(limit) => Self::HttpResponseBodySize(Some(limit)),
            Failure::Protocol(_) => Self::HttpProtocolError,
            Failure::Host => Self::InternalError(None),
        }
    }
}

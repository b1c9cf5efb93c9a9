//! The span of a request to another service, which is told of it.
//!
//! Source: OpenTelemetry, semantic conventions for HTTP, "HTTP client span". Paths are left out: they may have secrets.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::metrics::Cost;
use crate::net::target::Target;
use crate::traces::{OpenSpan, SpanId, Value};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

pub(super) struct RequestSpan(OpenSpan);

impl RequestSpan {
    /// `None`: there are no traces.
    pub(super) fn begin(cost: &Cost, within: Option<SpanId>, method: &Method, to: &Target) -> Option<Self> {
        // Guests may make up others.
        let known =
            [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
        let known = known.into_iter().find(|known| known == method);
        let title = known.as_ref().map_or("HTTP", |known| known.as_str()).to_owned();
        let method = known.as_ref().map_or("_OTHER", |known| known.as_str()).to_owned();
        let mut span = cost.span(within, title)?.remote();
        span.add([
            ("http.request.method", Value::Text(method.into())),
            ("server.address", Value::Text(to.host.to_string().into())),
            ("server.port", Value::Integer(to.port.into())),
        ]);
        Some(Self(span))
    }

    /// Tells the service, in place of what the guest wrote: a state goes with its parent only.
    pub(super) fn tell(&self, headers: &mut HeaderMap) {
        let context = self.0.context();
        let state = context.state.as_ref().map(|state| state.as_str().to_owned());
        for (name, text) in [(TRACEPARENT, Some(context.to_string())), (TRACESTATE, state)] {
            headers.remove(&name);
            headers.extend(text.and_then(|text| Some((name, HeaderValue::try_from(text).ok()?))));
        }
    }

    pub(super) fn answered(&mut self, status: StatusCode) {
        self.0.add([("http.response.status_code", Value::Integer(status.as_u16().into()))]);
        if status.is_client_error() || status.is_server_error() {
            self.0.set_error(status.as_str().to_owned());
        }
    }

    pub(super) fn failed(&mut self, kind: &'static str) {
        self.0.set_error(kind);
    }
}

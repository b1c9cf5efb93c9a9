//! The checks of one request before MCP handles it: host and origin, token, path, body.
//!
//! It opens no sockets and does not look into messages.
//! Source: MCP 2026-07-28, basic/transports/streamable-http.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::{Body as _, Incoming};
use tokio_util::sync::CancellationToken;

use super::auth::Auth;
use super::body::{self, Bodies};
use super::guard::{self, Guard};
use super::metadata::Metadata;
use super::server_card::ServerCard;
use crate::identity::Identity;
use crate::server::Server;
use crate::transport::http::caller::{Caller, Peer};
use crate::transport::http::mcp::{self, Mcp, NeededScope, Reuse};
use crate::transport::http::nodes::Forward;
use crate::transport::http::responses::{ErrorResponse, plain};
use crate::transport::http::{Request, Response, Settings};

/// At shutdown, how long the rest of a body may take to arrive.
const BODY_GRACE: Duration = Duration::from_millis(250);

pub(in crate::transport::http) struct Front {
    pub(in crate::transport::http) settings: Settings,
    guard: Guard,
    auth: Auth,
    /// With OAuth.
    metadata: Option<Metadata>,
    server_card: Option<ServerCard>,
    bodies: Bodies,
    mcp: Arc<Mcp>,
    /// To other nodes, if there are any.
    forward: Option<Forward>,
    stop: CancellationToken,
}

/// The state of a connection that its requests share.
pub(in crate::transport::http) struct ClientConnection {
    pub(in crate::transport::http) peer: Peer,
    pub(in crate::transport::http) reuse: Reuse,
    /// From another node, which has sent its requests here.
    pub(in crate::transport::http) is_forwarded: bool,
}

impl Front {
    pub(in crate::transport::http) fn new(server: Arc<Server>, bound: Option<SocketAddr>, settings: Settings) -> Self {
        let guard = Guard::new(bound, settings.tls.is_some(), &settings);
        let auth = Auth::new(settings.tokens.clone(), settings.oauth.clone());
        let metadata = settings.oauth.clone().map(|oauth| Metadata::new(oauth, settings.sse));
        let needs_token = settings.has_authentication() && settings.oauth.is_none();
        let server_card = settings.server_card.as_deref().and_then(|url| ServerCard::new(&server, url, needs_token));
        let mcp =
            Arc::new(Mcp::new(server, settings.sessions, (settings.connections - settings.connections / 16).max(1)));
        let bodies = Bodies::new(settings.max_message, settings.body_timeout, settings.bodies);
        let stop = CancellationToken::new();
        let forward = settings.nodes.as_ref().map(|own| Forward::new(own.nodes.clone(), stop.clone()));
        Self { settings, guard, auth, metadata, server_card, bodies, mcp, forward, stop }
    }

    /// Cancelled at shutdown: no further requests are started.
    pub(in crate::transport::http) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Resolves at shutdown, when bodies in transit are no longer awaited.
    async fn ending(&self) {
        self.stop.cancelled().await;
        tokio::time::sleep(BODY_GRACE).await;
    }

    /// See [`Mcp::end_idle`].
    pub(in crate::transport::http) async fn end_idle(&self) -> Infallible {
        self.mcp.end_idle().await
    }

    /// Ends the sessions of those who have no static token any more, whenever tokens are replaced.
    pub(in crate::transport::http) async fn end_revoked(&self) -> Infallible {
        let mut replaced = self.settings.tokens.replaced();
        loop {
            // The settings hold the sender.
            let _ = replaced.changed().await;
            let has_token = |owner: &Identity| owner.grant.is_some() || self.settings.tokens.has(owner.name());
            self.mcp.end_of(|owner| !has_token(owner));
        }
    }

    /// See [`Mcp::close`].
    pub(in crate::transport::http) async fn close(&self, grace: Duration) {
        self.stop.cancel();
        self.mcp.close(grace).await;
    }

    pub(in crate::transport::http) async fn answer(
        &self,
        request: http::Request<Incoming>,
        info: &ClientConnection,
    ) -> Response {
        // A message with both Transfer-Encoding and Content-Length may be request smuggling. Hyper
        // uses the chunks and removes the length; nothing is read after it (RFC 9112, section 6.3).
        let last = request.headers().contains_key(header::TRANSFER_ENCODING);
        let path = request.uri().path();
        let mut response = if let Some(response) = self.health(&request) {
            response
        } else if let Some(metadata) = self.metadata.as_ref().filter(|metadata| metadata.has(path)) {
            self.described(metadata, &request).await
        } else if let Some(card) = self.server_card.as_ref().filter(|card| card.has(path)) {
            self.announced(card, &request)
        } else {
            self.guarded(request, info).await
        };
        if last {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// A request that another node has sent here. That one has checked host and origin; token, path and body are checked
    /// here again.
    pub(in crate::transport::http) async fn answer_forwarded(
        &self,
        request: http::Request<Incoming>,
        info: &ClientConnection,
    ) -> Response {
        self.admitted(request, info).await
    }

    /// Health probes: without tokens, and some by an IP address.
    fn health<B>(&self, request: &http::Request<B>) -> Option<Response> {
        let (ready, text) = match request.uri().path() {
            "/healthz" => (true, "ok\n".to_owned()),
            "/readyz" => self.readiness(),
            _ => return None,
        };
        if let Err(refusal) = self.guard.check_probe(request.uri(), request.headers()) {
            return Some(refusal.into());
        }
        Some(match *request.method() {
            Method::GET | Method::HEAD if ready => plain(StatusCode::OK, text),
            Method::GET | Method::HEAD => plain(StatusCode::SERVICE_UNAVAILABLE, text),
            _ => method_not_allowed("GET, HEAD").into(),
        })
    }

    /// Whether the plugins are in service, and somebody could be let in; as text too.
    fn readiness(&self) -> (bool, String) {
        let issuers = self.settings.oauth.as_ref().map(|oauth| oauth.verifier.status()).unwrap_or_default();
        // One that is down does not keep out those who come with a token of another kind.
        let lets_in =
            issuers.is_empty() || !self.settings.tokens.is_empty() || issuers.iter().any(|issuer| issuer.ready);
        let ready = lets_in && self.mcp.server.is_ready();
        let mut text = String::from(if ready { "ok\n" } else { "not ready\n" });
        for issuer in issuers {
            let state = if issuer.ready { "ready" } else { "not available" };
            text += &format!("issuer {}: {state}\n", issuer.issuer);
        }
        (ready, text)
    }

    /// The metadata for clients of OAuth: without tokens, and for pages of all sites.
    async fn described<B>(&self, metadata: &Metadata, request: &http::Request<B>) -> Response {
        match self.guard.check_host(request.uri(), request.headers()) {
            Ok(()) => metadata.answer(request.uri().path(), request.method(), request.headers()).await,
            Err(refusal) => refusal.into(),
        }
    }

    /// As [`Self::described`], of what says where the server is.
    fn announced<B>(&self, card: &ServerCard, request: &http::Request<B>) -> Response {
        match self.guard.check_host(request.uri(), request.headers()) {
            Ok(()) => card.answer(request.uri().path(), request.method(), request.headers()),
            Err(refusal) => refusal.into(),
        }
    }

    async fn guarded(&self, request: http::Request<Incoming>, info: &ClientConnection) -> Response {
        let origin = match self.guard.check(request.uri(), request.headers()) {
            Ok(origin) => origin,
            Err(refusal) => return self.refuse(request, refusal),
        };
        if let Some(origin) = &origin
            && let Some(response) = guard::preflight(request.method(), request.headers(), origin)
        {
            return response;
        }
        let mut response = self.admitted(request, info).await;
        if let Some(origin) = &origin {
            guard::allow(&mut response, origin);
        }
        response
    }

    /// The checks are ordered by what a client may learn about the server.
    async fn admitted(&self, mut request: http::Request<Incoming>, info: &ClientConnection) -> Response {
        let authenticated = tokio::select! {
            // A known token is found at once, without registering for shutdown.
            biased;
            authenticated = self.auth.authenticate(request.uri(), request.headers(), &info.peer) => authenticated,
            () = self.ending() => Err(ErrorResponse::shutting_down()),
        };
        let caller = match authenticated {
            Ok(caller) => caller,
            Err(refusal) => {
                if let Some(recorded) = refusal.recorded {
                    self.mcp.server.record_refused(recorded.code(), info.peer.network);
                }
                return self.refuse(request, refusal);
            }
        };
        if let Err(refusal) = self.expected(request.uri().path(), request.method(), request.headers()) {
            return self.refuse(request, refusal);
        }
        if !is_plainly_chunked(request.headers()) {
            let detail = "a Transfer-Encoding other than chunked is not supported; send the body unencoded";
            let refusal = ErrorResponse::new(StatusCode::NOT_IMPLEMENTED, "transfer_encoding", detail);
            return refusal.header(header::CONNECTION, "close").into();
        }
        let read = tokio::select! {
            // A body that has arrived is read at once, without registering for shutdown.
            biased;
            read = self.bodies.read(request.body_mut(), &caller.key) => read,
            () = self.ending() => Err(ErrorResponse::shutting_down()),
        };
        match read {
            Ok(bytes) => {
                let mut response = self.handled(info, &caller, request.map(|_| bytes)).await;
                if let Some(NeededScope(scope)) = response.extensions_mut().remove() {
                    response.headers_mut().insert(header::WWW_AUTHENTICATE, self.auth.step_up(&scope));
                }
                response
            }
            Err(refusal) => self.refuse(request, refusal),
        }
    }

    /// What MCP answers, until the token is revoked.
    async fn handled(&self, info: &ClientConnection, caller: &Caller, request: Request) -> Response {
        let Some(revoked) = &caller.revoked else { return self.routed(info, caller, request).await };
        let mut response = tokio::select! {
            biased;
            response = self.routed(info, caller, request) => response,
            () = revoked.cancelled() => ErrorResponse::revoked().into(),
        };
        // Whoever gets that far has a valid token until it is revoked.
        if response.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, self.auth.revoked());
        }
        // Only a stream has no length.
        if response.body().size_hint().exact().is_some() {
            return response;
        }
        let revoked = revoked.clone().cancelled_owned();
        response.map(|body| StreamBody::new(BodyStream::new(body).take_until(revoked)).boxed_unsync())
    }

    /// Here, or by the node of its session.
    async fn routed(&self, info: &ClientConnection, caller: &Caller, request: Request) -> Response {
        if let Some(forward) = self.forward.as_ref().filter(|_| !info.is_forwarded)
            && let Some(node) = forward.owner(&self.mcp.server, &request)
        {
            return forward.send(node, &info.peer, request).await;
        }
        self.mcp.handle(&info.reuse, caller, request).await
    }

    /// Checks path, method and content type.
    fn expected(&self, path: &str, method: &Method, headers: &HeaderMap) -> Result<(), ErrorResponse> {
        let (methods, allowed): (&[Method], _) = match path {
            mcp::PATH => (&[Method::POST, Method::GET, Method::DELETE], "GET, POST, DELETE"),
            mcp::EVENTS if self.settings.sse => (&[Method::GET], "GET"),
            mcp::MESSAGES if self.settings.sse => (&[Method::POST], "POST"),
            _ if matches!(*method, Method::TRACE | Method::CONNECT) => (&[], "GET, POST, DELETE"),
            _ => {
                let detail = "not found; the MCP endpoint is /mcp";
                return Err(ErrorResponse::new(StatusCode::NOT_FOUND, "path_not_found", detail));
            }
        };
        if !methods.contains(method) {
            return Err(method_not_allowed(allowed));
        }
        match *method {
            Method::POST => body::check_type(headers),
            _ => Ok(()),
        }
    }

    fn refuse(&self, request: http::Request<Incoming>, refusal: ErrorResponse) -> Response {
        if refusal.keeps_connection() {
            body::discard(request, self.settings.max_message, self.stop.clone());
        }
        refusal.into()
    }
}

/// Whether the body has no transfer coding other than chunked.
fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = codings.next();
    codings.next().is_none() && first.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
}

fn method_not_allowed(allowed: &'static str) -> ErrorResponse {
    let detail = format!("this method is not supported here; use {allowed}");
    ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail).header(header::ALLOW, allowed)
}

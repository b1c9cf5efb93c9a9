//! `GET /metrics` on a listener of its own, which has nothing else: what scrapes it needs no rights to call tools.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Method, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::http::{accept, bearer, is_address_or_localhost, serve_operator};
use crate::identity::TokenHash;

/// Connections at the same time. For one more the oldest is closed: one of Prometheus takes milliseconds.
const MAX_CONNECTIONS: usize = 64;
/// For a connection: Prometheus opens another one.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);

/// The media type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whom the metrics are for, and what they are.
pub struct Settings {
    /// What scrapers send; `None`: whoever can connect from this machine.
    pub token: Option<TokenHash>,
    /// The metrics as they are now.
    pub text: Box<dyn Fn() -> String + Send + Sync>,
}

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, settings: Settings) -> Infallible {
    let settings = Arc::new(settings);
    let mut open = VecDeque::new();
    loop {
        let stream = accept(&listener).await;
        open.retain(|connection: &AbortOnDropHandle<()>| !connection.is_finished());
        if open.len() >= MAX_CONNECTIONS {
            open.pop_front();
        }
        let settings = settings.clone();
        open.push_back(AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = timeout(CONNECTION_TIMEOUT, connection(stream, &settings)).await;
        })));
    }
}

async fn connection(stream: TcpStream, settings: &Settings) {
    let service = service_fn(|request: http::Request<Incoming>| {
        let response = respond(request.method(), request.uri(), request.headers(), settings);
        async move { Ok::<_, Infallible>(response) }
    });
    serve_operator(stream, service).await;
}

fn respond(method: &Method, uri: &Uri, headers: &HeaderMap, settings: &Settings) -> http::Response<Full<Bytes>> {
    let status = |status: StatusCode| {
        let mut response = http::Response::new(Full::default());
        *response.status_mut() = status;
        response
    };
    match &settings.token {
        Some(token) if !has_token(uri, headers, token) => return status(StatusCode::UNAUTHORIZED),
        // A page of another site may have given its name this address (DNS rebinding).
        None if !names_an_address(uri, headers) => return status(StatusCode::FORBIDDEN),
        _ => {}
    }
    if uri.path() != "/metrics" {
        return status(StatusCode::NOT_FOUND);
    }
    if method != Method::GET {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let mut response = http::Response::new(Full::new((settings.text)().into()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(OPEN_METRICS));
    response
}

fn has_token(uri: &Uri, headers: &HeaderMap, token: &TokenHash) -> bool {
    bearer(uri, headers).is_ok_and(|sent| sent.is_some_and(|sent| TokenHash::of(sent) == *token))
}

/// Whether the server is called by an IP address or `localhost`: a page cannot have those names.
fn names_an_address(uri: &Uri, headers: &HeaderMap) -> bool {
    let hosts = headers.get_all(header::HOST);
    let mut hosts = hosts.iter().map(|host| host.to_str().unwrap_or_default()).peekable();
    hosts.peek().is_some()
        && hosts.chain(uri.authority().map(|authority| authority.as_str())).all(is_address_or_localhost)
}

//! `GET /metrics` on a listener of its own, which has nothing else: what scrapes it needs no rights to call tools.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use http::{Method, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

/// Connections at the same time. For one more the oldest is closed: one of Prometheus takes milliseconds.
const MAX_CONNECTIONS: usize = 64;
/// For the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// For a connection: Prometheus opens another one.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of the head of a request.
const MAX_HEAD: usize = 16 << 10;
/// After an error of the listener.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The media type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whom the metrics are for, and what they are.
pub struct Settings {
    /// What scrapers send; `None`: whoever can connect from this machine.
    pub token: Option<String>,
    /// The metrics as they are now.
    pub text: Box<dyn Fn() -> String + Send + Sync>,
}

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, settings: Settings) -> Infallible {
    let settings = Arc::new(settings);
    let mut open = VecDeque::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "failed to accept a connection for metrics");
                sleep(RETRY_PAUSE).await;
                continue;
            }
        };
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
        let response = respond(request.method(), request.uri().path(), request.headers(), settings);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection for metrics ended");
    }
}

fn respond(method: &Method, path: &str, headers: &HeaderMap, settings: &Settings) -> http::Response<Full<Bytes>> {
    let status = |status: StatusCode| {
        let mut response = http::Response::new(Full::default());
        *response.status_mut() = status;
        response
    };
    match &settings.token {
        Some(token) if !has_token(headers, token) => return status(StatusCode::UNAUTHORIZED),
        // A page of another site may have given its name this address (DNS rebinding).
        None if !names_an_address(headers) => return status(StatusCode::FORBIDDEN),
        _ => {}
    }
    if path != "/metrics" {
        return status(StatusCode::NOT_FOUND);
    }
    if method != Method::GET {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let mut response = http::Response::new(Full::new((settings.text)().into()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(OPEN_METRICS));
    response
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    // One of several may be somebody else's.
    let sent = all.next().filter(|_| all.next().is_none()).and_then(|value| value.to_str().ok());
    let sent = sent.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    // Hashes, so that the time does not say how much of it is right.
    sent.is_some_and(|(_, sent)| blake3::hash(sent.trim().as_bytes()) == blake3::hash(token.as_bytes()))
}

/// Whether `Host` is an IP address or `localhost`: a page cannot have those names.
fn names_an_address(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok() || host.parse::<SocketAddr>().is_ok()
}

//! An MCP server with the official Rust SDK, as a component that exports `wasi:http/incoming-handler`.

#![cfg(target_family = "wasm")]

mod server;

use std::io::{Read, Write};

use http::{Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use server::Server;
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam};

wasip2::http::proxy::export!(Handler);

struct Handler;

impl Guest for Handler {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            match read(&request) {
                Ok(request) => write(service().handle(request).await, out).await,
                Err(status) => {
                    let mut response = Response::new(String::new());
                    *response.status_mut() = status;
                    write(response, out).await;
                }
            }
        });
    }
}

fn service() -> StreamableHttpService<Server, NeverSessionManager> {
    // The next request may be another instance's, which does not know the sessions of this one.
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
    StreamableHttpService::new(|| Ok(Server), Default::default(), config)
}

fn read(incoming: &IncomingRequest) -> Result<Request<String>, StatusCode> {
    let path = incoming.path_with_query().unwrap_or_default();
    if path.split('?').next() != Some("/mcp") {
        return Err(StatusCode::NOT_FOUND);
    }
    // WASI has the host's name here, not in a field `Host`. The SDK answers only to those of the loopback.
    let authority = incoming.authority().ok_or(StatusCode::BAD_REQUEST)?;
    let uri = Uri::builder().scheme("http").authority(authority).path_and_query(path).build();
    let method = match incoming.method() {
        Method::Post => http::Method::POST,
        // The SDK refuses all others alike.
        _ => http::Method::GET,
    };
    let mut request = Request::builder().method(method).uri(uri.map_err(|_| StatusCode::BAD_REQUEST)?);
    for (name, value) in incoming.headers().entries() {
        request = request.header(name, value);
    }
    let mut text = String::new();
    let body = incoming.consume().expect("it is taken once");
    let mut stream = body.stream().expect("it is taken once");
    stream.read_to_string(&mut text).map_err(|_| StatusCode::BAD_REQUEST)?;
    request.body(text).map_err(|_| StatusCode::BAD_REQUEST)
}

async fn write(response: Response<impl BodyExt<Data: AsRef<[u8]>> + Unpin>, out: ResponseOutparam) {
    let (parts, mut content) = response.into_parts();
    let fields = Fields::new();
    for (name, value) in &parts.headers {
        fields.append(name.as_str(), value.as_bytes()).expect("a field that WASI allows");
    }
    let outgoing = OutgoingResponse::new(fields);
    outgoing.set_status_code(parts.status.as_u16()).expect("a valid status");
    let body = outgoing.body().expect("it is taken once");
    ResponseOutparam::set(out, Ok(outgoing));
    let mut stream = body.write().expect("it is taken once");
    while let Some(Ok(frame)) = content.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        // Each event is sent at once. A host that needs no more of them closes the stream.
        if stream.write_all(data.as_ref()).is_err() || stream.blocking_flush().is_err() {
            return;
        }
    }
    drop(stream);
    let _ = OutgoingBody::finish(body, None);
}

//! Requests through `wasi:http`.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme};
use wasip2::io::streams::StreamError;
use wharf_plugin::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Wanted {
    #[serde(default)]
    method: Option<String>,
    authority: String,
    path: String,
    #[serde(default)]
    https: bool,
    #[serde(default)]
    headers: Vec<(String, String)>,
    body: Option<String>,
    /// For the connection and the first byte.
    timeout_ms: Option<u64>,
}

/// The status and the body; errors by their names in WIT.
pub(crate) fn send(wanted: &Wanted) -> Result<String> {
    let shown = |error: &dyn std::fmt::Debug| Error::failed(format!("{error:?}"));
    let fields = Fields::new();
    for (name, value) in &wanted.headers {
        fields.append(name, value.as_bytes()).map_err(|error| shown(&error))?;
    }
    let request = OutgoingRequest::new(fields);
    let refused = |_| Error::failed("refused before it was sent");
    if let Some(method) = &wanted.method {
        request.set_method(&Method::Other(method.clone())).map_err(refused)?;
    }
    request.set_scheme(Some(if wanted.https { &Scheme::Https } else { &Scheme::Http })).map_err(refused)?;
    request.set_authority(Some(&wanted.authority)).map_err(refused)?;
    request.set_path_with_query(Some(&wanted.path)).map_err(refused)?;
    let options = RequestOptions::new();
    let timeout = wanted.timeout_ms.map(|ms| ms * 1_000_000);
    options.set_connect_timeout(timeout).map_err(refused)?;
    options.set_first_byte_timeout(timeout).map_err(refused)?;
    let body = request.body().map_err(refused)?;
    let pending = handle(request, Some(options)).map_err(|error| shown(&error))?;
    if let Some(text) = &wanted.body {
        let stream = body.write().map_err(refused)?;
        stream.blocking_write_and_flush(text.as_bytes()).map_err(|error| shown(&error))?;
    }
    OutgoingBody::finish(body, None).map_err(|error| shown(&error))?;
    pending.subscribe().block();
    let response = match pending.get() {
        Some(Ok(Ok(response))) => response,
        other => return Err(shown(&other)),
    };
    let body = response.consume().map_err(refused)?;
    let stream = body.stream().map_err(refused)?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(more) => bytes.extend(more),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => return Err(Error::failed(error.to_debug_string())),
        }
    }
    Ok(format!("{}\n{}", response.status(), String::from_utf8_lossy(&bytes)))
}

//! The handler of `wasi:http`.

use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam};
use wasip2::io::streams::StreamError;

use crate::{Request, Response, mcp};

wasip2::http::proxy::export!(Handler);

struct Handler;

impl Guest for Handler {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        match mcp::answer(&read(&request)) {
            Response::Whole(status, kind, fields, body) => {
                let stream = begin(out, status, kind, &fields);
                write(&stream, body.as_bytes());
                let _ = OutgoingBody::finish(stream, None);
            }
            Response::Endless(kind, part) => {
                let body = begin(out, 200, kind, &[]);
                let stream = body.write().expect("its stream is taken once");
                loop {
                    stream.blocking_write_and_flush(part.as_bytes()).expect("the host reads");
                }
            }
            Response::Unfinished(part) => {
                let body = begin(out, 200, "application/json", &[]);
                write(&body, part.as_bytes());
            }
            Response::Open(part) => {
                let body = begin(out, 200, "text/event-stream", &[]);
                write(&body, part.as_bytes());
                loop {
                    std::hint::black_box(&body);
                }
            }
            Response::Nothing => {}
        }
    }
}

fn read(request: &IncomingRequest) -> Request {
    let headers = request.headers().entries();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let mut body = Vec::new();
    if let Ok(incoming) = request.consume() {
        let stream = incoming.stream().expect("its stream is taken once");
        loop {
            match stream.blocking_read(64 << 10) {
                Ok(part) => body.extend(part),
                Err(StreamError::Closed) => break,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    Request {
        path: request.path_with_query().unwrap_or_default(),
        headers: headers.into_iter().map(|(name, value)| (name, text(value))).collect(),
        body: text(body),
    }
}

fn begin(out: ResponseOutparam, status: u16, kind: &str, fields: &[(&'static str, String)]) -> OutgoingBody {
    let headers = Fields::new();
    let fields = fields.iter().map(|(name, value)| (*name, value.as_str())).chain([("content-type", kind)]);
    for (name, value) in fields {
        headers.append(name, value.as_bytes()).expect("a valid field");
    }
    let response = OutgoingResponse::new(headers);
    response.set_status_code(status).expect("a valid status");
    let body = response.body().expect("its body is taken once");
    ResponseOutparam::set(out, Ok(response));
    body
}

fn write(body: &OutgoingBody, bytes: &[u8]) {
    let stream = body.write().expect("its stream is taken once");
    for part in bytes.chunks(4096) {
        stream.blocking_write_and_flush(part).expect("the host reads");
    }
}

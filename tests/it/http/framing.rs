//! Request boundaries and length limits (P18, P30, P31).

use crate::support::http::{HttpServer, Request};
use wharf::transport::http::Settings;

/// A request inside the body of the previous one; it must never be answered.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n";

/// The statuses of all responses to these bytes, after which the host must close.
fn statuses(server: &HttpServer, bytes: &str) -> Vec<u16> {
    let mut connection = server.connect();
    connection.send(bytes.as_bytes());
    std::iter::from_fn(|| connection.response()).map(|response| response.status).collect()
}

/// P18: two lengths, or an ambiguous one.
#[test]
fn p18_an_invalid_length_is_refused_and_nothing_after_it_is_read() {
    let server = HttpServer::start(Settings::default());
    let host = server.address;
    let post = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n");
    let length = SMUGGLED.len();
    let refused = [
        ("two lengths", format!("{post}Content-Length: 1\r\nContent-Length: {length}\r\n\r\n{SMUGGLED}")),
        ("a list of lengths", format!("{post}Content-Length: 1, {length}\r\n\r\n{SMUGGLED}")),
        ("a length with a sign", format!("{post}Content-Length: +{length}\r\n\r\n{SMUGGLED}")),
        ("a negative length", format!("{post}Content-Length: -1\r\n\r\n{SMUGGLED}")),
        ("an unknown coding", format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{SMUGGLED}")),
        ("a coding after chunked", format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{SMUGGLED}")),
        ("a folded header", format!("{post}X-Folded: a\r\n b\r\nContent-Length: 0\r\n\r\n{SMUGGLED}")),
        ("a space before the colon", format!("{post}Content-Length : {length}\r\n\r\n{SMUGGLED}")),
        (
            "chunks in HTTP/1.0",
            format!("{}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}", post.replace("HTTP/1.1", "HTTP/1.0")),
        ),
    ];
    for (what, bytes) in refused {
        assert_eq!(statuses(&server, &bytes), [400], "{what}");
    }
}

/// P18: `Content-Length` beside chunks. Only the chunks count, and nothing is read after them.
#[test]
fn p18_chunks_beside_a_length_are_the_last_request() {
    let server = HttpServer::start(Settings::default());
    let body = "2\r\n{}\r\n0\r\n\r\n";
    for headers in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n", server.address);
        let seen = statuses(&server, &format!("{head}{headers}\r\n{body}{SMUGGLED}"));
        assert_eq!(seen.len(), 1, "{headers}: {seen:?}");
    }
}

/// P18: compressed transfer codings are refused.
#[test]
fn p18_a_compressed_transfer_is_refused() {
    let server = HttpServer::start(Settings::default());
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n", server.address);
    for coding in ["gzip, chunked", "Chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"] {
        let bytes = format!("{head}Transfer-Encoding: {coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{SMUGGLED}");
        let seen = statuses(&server, &bytes);
        assert!(matches!(seen[..], [400 | 501]), "{coding}: {seen:?}");
    }
    let packed = format!("{head}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n");
    assert_eq!(statuses(&server, &packed), [501]);
}

/// P18: bare line feeds are not ambiguous.
#[test]
fn p18_a_bare_line_feed_does_not_split_requests() {
    let server = HttpServer::start(Settings::default());
    let host = server.address;
    let length = SMUGGLED.len();
    let head = format!(
        "POST /mcp HTTP/1.1\nHost: {host}\nConnection: close\nContent-Type: application/json\nContent-Length: {length}\n\n"
    );
    let seen = statuses(&server, &format!("{head}{SMUGGLED}"));
    assert_eq!(seen.len(), 1, "{seen:?}");
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\n{{}}\n0\n\n"
    );
    assert_eq!(statuses(&server, &format!("{chunked}{SMUGGLED}")), [400], "a chunk");
}

/// P18: chunk extensions that are larger than their chunks.
#[test]
fn p18_oversized_chunk_extensions_are_refused() {
    let server = HttpServer::start(Settings::default());
    let mut connection = server.connect();
    let head = Request::new("POST", "/mcp", server.address)
        .with("Content-Type", "application/json")
        .with("Transfer-Encoding", "chunked");
    connection.send(&head.head());
    let chunk = format!("1;{}\r\n \r\n", "x".repeat(4096));
    for _ in 0..64 {
        if !connection.send(chunk.as_bytes()) {
            break;
        }
    }
    let response = connection.response().expect("a response");
    assert_eq!(response.status, 400, "{}", response.text());
    assert_eq!(response.header("connection"), Some("close"));
}

/// P18: too many headers, and headers that are too long.
#[test]
fn p18_too_many_and_too_long_headers_are_refused() {
    let server = HttpServer::start(Settings::default());
    let many = (0..200).fold(server.discover(), |request, n| request.with(&format!("X-{n}"), "x"));
    assert_eq!(server.exchange(&many).status, 431);
    let long = server.discover().with("X-Long", &"x".repeat(1 << 20));
    assert_eq!(server.exchange(&long).status, 431);
    let path = format!("/{}", "x".repeat(70 << 10));
    assert!(matches!(server.exchange(&Request::new("GET", &path, server.address)).status, 414 | 431));
}

/// P30: a body of 4 MiB is read, and one byte more is not.
#[test]
fn p30_a_body_over_4_mib_is_refused_before_it_is_sent() {
    let server = HttpServer::start(Settings::default());
    let over = server.discover().json(vec![b' '; (4 << 20) + 1]);
    let mut connection = server.connect();
    connection.send(&over.head());
    // Nothing of the body has been sent.
    let response = connection.response().expect("a response to the head");
    assert_eq!(response.status, 413);
    assert!(response.text().contains("4194304"), "{}", response.text());
    assert_eq!(server.exchange(&over).status, 413, "also when the body is sent at once");
    let mut largest = server.discover().body;
    largest.resize(4 << 20, b' ');
    assert!(server.exchange(&server.discover().json(largest)).reached_mcp());
}

/// P30: a body without a declared length.
#[test]
fn p30_chunks_over_4_mib_are_refused() {
    let server = HttpServer::start(Settings::default());
    let request = server.discover().without("Content-Length").with("Transfer-Encoding", "chunked");
    let mut connection = server.connect();
    connection.send(&request.head());
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(1 << 20));
    for _ in 0..5 {
        connection.send(chunk.as_bytes());
    }
    assert_eq!(connection.response().expect("a response").status, 413);
}

/// P30: content codings are not decoded.
#[test]
fn p30_a_compressed_body_is_refused() {
    let server = HttpServer::start(Settings::default());
    for coding in ["gzip", "br", "deflate", "identity, gzip"] {
        assert_eq!(server.exchange(&server.discover().with("Content-Encoding", coding)).status, 415, "{coding}");
    }
    assert!(server.exchange(&server.discover().with("Content-Encoding", "identity")).reached_mcp());
}

/// P30: `Expect: 100-continue` is answered with 100, or with the refusal.
#[test]
fn p30_an_expectation_is_honoured() {
    let server = HttpServer::start(Settings::default());
    let request = server.discover().with("Expect", "100-continue");
    let mut connection = server.connect();
    connection.send(&request.head());
    assert_eq!(connection.response().expect("100 Continue").status, 100);
    connection.send(&request.body);
    assert!(connection.response().expect("a response").reached_mcp());

    let mut connection = server.connect();
    connection.send(&request.set("Content-Type", "text/plain").head());
    assert_eq!(connection.response().expect("a response").status, 415, "before the body is sent");
}

/// P31: HTTP/2 is not offered.
#[test]
fn p31_http_2_is_not_supported() {
    let server = HttpServer::start(Settings::default());
    let mut connection = server.connect();
    connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00");
    assert_eq!(connection.rest(), "", "closed without a response");
}

/// Pipelined requests are answered in order.
#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = HttpServer::start(Settings::default());
    let mut connection = server.connect();
    let health = Request::new("GET", "/healthz", server.address);
    connection.send(&[server.discover().bytes(), health.bytes(), server.discover().bytes()].concat());
    assert!(connection.response().expect("a response").reached_mcp());
    assert_eq!(connection.response().expect("a response").text(), "ok\n");
    assert!(connection.response().expect("a response").reached_mcp());
    assert_eq!(connection.exchange(&server.discover().without("Content-Type")).status, 415);
    let twice = server.exchange(&server.discover().with("Content-Type", "application/json"));
    assert!(twice.status == 400 && twice.text().contains("repeated"), "{}", twice.text());
    assert!(connection.exchange(&server.discover()).reached_mcp(), "a refusal does not close the connection");
}

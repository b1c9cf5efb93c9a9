//! Exchanges with misbehaving servers and plugins: every timeout and size limit.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::time::Instant;

use super::*;
use crate::plugin::imports::outbound::fetch::fetch;

/// Longer than anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn inside(url: &str) -> Vec<HttpGrant> {
    let all = ["GET", "HEAD", "POST"].map(str::to_owned);
    vec![grant(url).methods(&all).expect("methods").private(true)]
}

/// A plugin that may send anything to that server.
fn to(server: &Server) -> Sender {
    call_of(sandbox(), inside(&server.url("")), Vec::new())
}

#[tokio::test]
async fn responses_are_complete_and_without_connection_fields() {
    let server =
        Server::responding("HTTP/1.1 418 Teapot\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\nshort and stout");
    let response = fetch(to(&server), get(server.url("/tea"))).await.expect("a response");
    assert_eq!((response.status, response.body.as_slice()), (418, b"short and stout".as_slice()));
    let fields: Vec<_> = response.headers.iter().map(|field| (field.name.as_str(), field.value.as_slice())).collect();
    assert_eq!(fields, [("x-a", b"1".as_slice()), ("x-a", b"2")]);
}

#[tokio::test]
async fn a_body_is_sent_with_its_length() {
    let server = Server::start(|mut stream| {
        let mut body = [0; 4];
        stream.read_exact(&mut body).expect("a body");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").and_then(|()| stream.write_all(&body)).expect("a reader");
    });
    let headers = vec![field("Content-Length", "99"), field("Proxy-Authorization", "x"), field("X-Own", "1")];
    let request = Http::Request { method: "POST".into(), headers, body: Some(b"milk".into()), ..get(server.url("/")) };
    assert_eq!(fetch(to(&server), request).await.expect("a response").body, b"milk");
    let head = server.take().concat();
    assert!(head.contains("content-length: 4\r\n") && head.contains("x-own: 1\r\n"), "{head}");
    assert!(!head.contains("proxy") && !head.contains("content-length: 99"), "{head}");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::responding("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/admin\r\n\r\n");
    let call = to(&server);
    let response = fetch(call.clone(), get(server.url("/"))).await.expect("a response");
    assert_eq!(response.status, 302);
    let followed = fetch(call, get("http://127.0.0.1:1/admin")).await;
    assert_eq!(
        followed,
        Err(Failure::NotGranted("{ url = \"http://127.0.0.1:1\", private = true }, added to its http".into()))
    );
    assert_eq!(server.take().len(), 1);
}

#[tokio::test]
async fn a_host_header_must_match_the_url() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let own = format!("API.example:{}", server.port);
    let request = |host: &str| Http::Request { headers: vec![field("Host", host)], ..get(server.url("/")) };
    fetch(to(&server), request(&own)).await.expect("a response");
    let head = server.take().concat();
    assert!(head.contains(&format!("host: api.example:{}\r\n", server.port)), "{head}");
    for other in ["evil.example", "api.example", "", "user@api.example"] {
        let outcome = fetch(to(&server), request(other)).await;
        assert!(matches!(outcome, Err(Failure::Invalid(_))), "{other}: {outcome:?}");
    }
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn headers_cannot_break_lines_or_fill_memory() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let with = |headers| Http::Request { headers, ..get(server.url("/")) };
    for (name, value) in [("x", "a\r\nHost: evil.example"), ("x\r\ny", "z"), ("x", "a\nb"), ("x", "\0"), ("", "a")] {
        let outcome = fetch(to(&server), with(vec![field(name, value)])).await;
        assert!(matches!(outcome, Err(Failure::Invalid(_))), "{name:?}: {outcome:?}");
    }
    for count in [128, 33_000] {
        let many = (0..count).map(|n| field(&format!("x-{n}"), "1")).collect();
        assert!(matches!(fetch(to(&server), with(many)).await, Err(Failure::Invalid(_))), "{count}");
    }
    assert!(server.take().is_empty());
    fetch(to(&server), with((0..127).map(|n| field(&format!("x-{n}"), "1")).collect())).await.expect("a response");
}

#[tokio::test]
async fn a_head_of_33_000_fields_is_refused() {
    let fields = "X: 1\r\n".repeat(33_000);
    let server = Server::responding(format!("HTTP/1.1 200 OK\r\n{fields}\r\n"));
    let outcome = fetch(to(&server), get(server.url("/"))).await;
    assert!(matches!(outcome, Err(Failure::Protocol(_))), "{outcome:?}");
}

#[tokio::test]
async fn invalid_http_is_a_protocol_error() {
    for response in
        ["SSH-2.0-OpenSSH\r\n", "", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "HTTP/1.1 2000\r\n\r\n"]
    {
        let server = Server::responding(response);
        let outcome = fetch(to(&server), get(server.url("/"))).await;
        assert!(matches!(outcome, Err(Failure::Protocol(_))), "{response}: {outcome:?}");
    }
}

#[tokio::test]
async fn response_bodies_are_limited() {
    let endless = |mut stream: std::net::TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 64 << 10]).is_ok() {}
    };
    let declared = "HTTP/1.1 200 OK\r\nContent-Length: 16777217\r\n\r\n";
    for server in [Server::start(endless), Server::responding(declared)] {
        let outcome = fetch(to(&server), get(server.url("/"))).await;
        assert_eq!(outcome, Err(Failure::ResponseTooLarge(16 << 20)));
    }
    let server = Server::responding(declared);
    let head = Http::Request { method: "HEAD".into(), ..get(server.url("/")) };
    assert_eq!(fetch(to(&server), head).await.expect("a head").status, 200);
}

#[tokio::test]
async fn request_bodies_are_limited() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let body = Some(vec![0; (16 << 20) + 1]);
    let request = Http::Request { method: "POST".into(), body, ..get(server.url("/")) };
    assert_eq!(fetch(to(&server), request).await, Err(Failure::RequestTooLarge(16 << 20)));
    assert!(server.take().is_empty());
}

#[tokio::test]
async fn silent_and_slow_servers_time_out() {
    // Accepts connections, and sends nothing.
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = mute.local_addr().expect("an address").port();
    let trickle = Server::start(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let cases = [
        (format!("https://api.example:{port}"), Stage::Connect),
        (format!("http://api.example:{port}"), Stage::FirstByte),
        ("http://silent.example".into(), Stage::Connect),
        (trickle.url(""), Stage::Body),
    ];
    for (url, stage) in cases {
        let started = Instant::now();
        let outcome = fetch(call_of(short_timeouts(), inside(&url), Vec::new()), get(&url)).await;
        assert_eq!(outcome, Err(Failure::Timeout(stage)), "{url}");
        assert!(started.elapsed() < PATIENCE, "{url}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn a_plugin_can_shorten_the_timeout() {
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://api.example:{}", mute.local_addr().expect("an address").port());
    for ms in [0, 50] {
        let request = Http::Request { timeout_ms: Some(ms), ..get(&url) };
        let outcome = fetch(call_of(sandbox(), inside(&url), Vec::new()), request).await;
        assert_eq!(outcome, Err(Failure::Timeout(Stage::Body)), "{ms} ms");
    }
}

#[tokio::test]
async fn self_signed_certificates_are_not_trusted() {
    let own = rcgen::generate_simple_self_signed(["api.example".to_owned()]).expect("a certificate");
    let key = tokio_rustls::rustls::pki_types::PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let ring = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("a server");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://api.example:{}", listener.local_addr().expect("an address").port());
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a client");
        acceptor.accept(stream).await.map(drop)
    });
    let outcome = fetch(call_of(sandbox(), inside(&url), Vec::new()), get(&url)).await;
    assert!(matches!(outcome, Err(Failure::Tls(_))), "{outcome:?}");
}

#[tokio::test]
async fn dropping_the_call_closes_the_connection() {
    let (sender, closed) = channel();
    let (arrived_sender, arrived) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let _ = arrived_sender.send(());
        let _ = sender.send(stream.read(&mut [0]));
    });
    let mut arrived = arrived;
    let request = tokio::spawn(fetch(to(&server), get(server.url("/"))));
    arrived.recv().await.expect("a request");
    request.abort();
    let read = tokio::task::spawn_blocking(move || closed.recv_timeout(PATIENCE)).await.expect("no panic");
    // End of stream, or a reset.
    assert!(!matches!(read.expect("it is closed"), Ok(1..)));
}

#[tokio::test]
async fn concurrent_exchanges_of_a_plugin_are_limited() {
    let (arrived_sender, mut arrived) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let _ = arrived_sender.send(());
        let _ = stream.read(&mut [0]);
    });
    let call = call_of(short_connect_timeout(), inside(&server.url("")), Vec::new());
    let held: Vec<_> = (0..8).map(|_| tokio::spawn(fetch(call.clone(), get(server.url("/"))))).collect();
    for _ in 0..8 {
        arrived.recv().await.expect("a request");
    }
    assert_eq!(fetch(call.clone(), get(server.url("/"))).await, Err(Failure::Busy));
    held.into_iter().for_each(|held| held.abort());
    // Permits are free again when they are dropped.
    tokio::select! {
        outcome = fetch(call, get(server.url("/"))) => panic!("{outcome:?}"),
        came = tokio::time::timeout(PATIENCE, arrived.recv()) => assert!(came.is_ok()),
    }
}

fn short_connect_timeout() -> &'static Sandbox {
    static SANDBOX: OnceLock<Arc<Sandbox>> = OnceLock::new();
    SANDBOX.get_or_init(|| with_caps(Caps { connect: Duration::from_secs(1), ..Caps::default() }))
}

#[tokio::test]
async fn the_host_adds_a_secret_that_the_plugin_does_not_have() {
    let server = Server::responding("HTTP/1.1 204 No Content\r\n\r\n");
    let secret = |value: Result<&str, &str>| {
        let missing = |why: &str| Missing { why: why.into(), hint: "put it there".into(), temporary: false };
        vec![Secret::new("key".into(), false, value.map(str::to_owned).map_err(missing))]
    };
    let entry = || vec![inside(&server.url("")).remove(0).header("Authorization", "Bearer ${key}").expect("a header")];
    let call = call_of(sandbox(), entry(), secret(Ok("0123456789")));
    let request = Http::Request { headers: vec![field("authorization", "mine")], ..get(server.url("/")) };
    fetch(call, request).await.expect("a response");
    let head = server.take().concat();
    assert!(head.contains("authorization: Bearer 0123456789\r\n") && !head.contains("mine"), "{head}");
    // Without its secret the entry still decides: a later one does not allow the request.
    let both = [entry(), inside(&server.url(""))].concat();
    let call = call_of(sandbox(), both, secret(Err("is not there: /secrets/key")));
    let problem = "it needs the secret 'key', which is not there: put it there";
    let outcome = fetch(call.clone(), get(server.url("/"))).await;
    assert_eq!(outcome, Err(Failure::Unusable(problem.into())));
    let denied = call.events.as_ref().and_then(|events| events.denied());
    assert_eq!(denied, Some(Denial { access: Access::Http, problem: Some(problem.into()) }));
    // The proposed line keeps its header.
    let line = call.granted.line_with(&grant("https://b.example"));
    assert!(line.contains("headers = { authorization = \"Bearer ${key}\" } }, "), "{line}");
}

#[tokio::test]
async fn the_proposed_line_keeps_the_existing_entries() {
    let call = call_of(sandbox(), vec![grant("https://a.example"), grant("http://inside.example:1")], Vec::new());
    let line = |entry: HttpGrant| call.granted.line_with(&entry);
    assert_eq!(
        line(grant("https://b.example")),
        r#"http = ["https://a.example", "http://inside.example:1", "https://b.example"]"#
    );
    assert_eq!(
        line(grant("http://inside.example:1").private(true)),
        r#"http = ["https://a.example", { url = "http://inside.example:1", private = true }]"#
    );
    let outcome = fetch(call.clone(), get("http://inside.example:1/x")).await;
    assert!(outcome == Err(Failure::NotPublic));
    assert_eq!(call.events.as_ref().and_then(|events| events.denied()), Some(Denial::without_grant(Access::Http)));
}

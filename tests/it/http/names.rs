//! Checks of `Host` and `Origin` (P19, P20, P21).

use wharf::transport::http::Settings;

use crate::support::http::{HttpServer, Request, Response};

/// The response to the head of a request whose body is not sent.
fn before_the_body(server: &HttpServer, request: &Request) -> Response {
    let mut connection = server.connect();
    connection.send(&request.clone().set("Content-Length", "1000").head());
    connection.response().expect("a response before the body")
}

/// P19.
#[test]
fn p19_a_page_of_another_origin_is_refused_before_its_body() {
    let server = HttpServer::start(Settings::default());
    let port = server.address.port();
    let other = format!("http://127.0.0.1:{}", if port == 1 { 2 } else { port - 1 });
    for origin in ["https://evil", "null", "http://localhost.evil", &other, &format!("http://localhost:{port}.evil")] {
        let response = before_the_body(&server, &server.discover().with("Origin", origin));
        assert_eq!(response.status, 403, "{origin}");
        let error: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
        assert_eq!((&error["jsonrpc"], error.get("id")), (&"2.0".into(), None), "{error}");
        assert_eq!(error["error"]["data"]["reason"], "origin_not_allowed");
    }
    for origin in [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}")] {
        let response = server.exchange(&server.discover().with("Origin", &origin));
        assert!(response.reached_mcp(), "{origin}: {response:?}");
        assert!(response.cors().is_empty(), "{response:?}");
    }
    assert!(server.exchange(&server.discover()).reached_mcp(), "no origin: not a browser");
}

/// P20.
#[test]
fn p20_an_unknown_host_is_refused_before_the_body() {
    let server = HttpServer::start(Settings::default());
    let port = server.address.port();
    let bad = ["evil.example", "localhost", "127.0.0.1"].map(str::to_owned);
    let with_port = ["user@localhost", "localhost.", "0.0.0.0", "2130706433", "evil.example"];
    for host in bad.into_iter().chain(with_port.map(|host| format!("{host}:{port}"))) {
        let response = before_the_body(&server, &server.discover().set("Host", &host));
        assert_eq!(response.status, 403, "{host}: {}", response.text());
    }
    assert_eq!(before_the_body(&server, &server.discover().without("Host")).status, 403);
    let mut absolute = server.discover();
    absolute.line = "POST http://evil.example/mcp HTTP/1.1".into();
    assert_eq!(before_the_body(&server, &absolute).status, 403);
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        assert!(server.exchange(&Request::discover(format!("{host}:{port}"))).reached_mcp(), "{host}");
    }
}

#[test]
fn a_host_and_an_origin_can_be_allowed() {
    let settings = Settings {
        allowed_hosts: vec!["tools.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        ..Settings::default()
    };
    let server = HttpServer::start(settings);
    assert!(server.exchange(&Request::discover("tools.example")).reached_mcp());
    let response = server.exchange(&server.discover().with("Origin", "https://app.example"));
    assert!(response.reached_mcp());
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(response.header("vary"), Some("Origin"));

    let preflight = |origin: &str| {
        let request = Request::new("OPTIONS", "/mcp", server.address)
            .with("Origin", origin)
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "content-type,mcp-method");
        server.exchange(&request)
    };
    let allowed = preflight("https://app.example");
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.header("access-control-allow-headers"), Some("content-type,mcp-method"));
    assert!(allowed.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    let refused = preflight("https://evil.example");
    assert_eq!((refused.status, refused.cors().len()), (403, 0));
}

/// P21: requests that a page may send without a preflight, and preflights.
#[test]
fn p21_requests_without_a_preflight_are_refused() {
    let server = HttpServer::start(Settings::default());
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let response = before_the_body(&server, &server.discover().set("Content-Type", content_type));
        assert_eq!((response.status, response.cors().len()), (415, 0), "{content_type}");
    }
    assert_eq!(before_the_body(&server, &server.discover().without("Content-Type")).status, 415);
    let as_json = "application/json; charset=utf-8";
    assert!(server.exchange(&server.discover().set("Content-Type", as_json)).reached_mcp());
    let preflight = Request::new("OPTIONS", "/mcp", server.address).with("Access-Control-Request-Method", "POST");
    let own = format!("http://{}", server.address);
    for request in [preflight.clone(), preflight.clone().with("Origin", &own)] {
        let response = server.exchange(&request);
        assert_eq!((response.status, response.cors().len()), (405, 0), "{response:?}");
    }
    let response = server.exchange(&preflight.with("Origin", "https://evil"));
    assert_eq!((response.status, response.cors().len()), (403, 0), "{response:?}");
}

/// P20: supervisors use an address; a page that rebinds DNS uses its own name.
#[test]
fn p20_health_needs_a_known_host_or_an_address() {
    let server = HttpServer::start(Settings::default());
    let port = server.address.port();
    let probe = |path: &str, host: &str| server.exchange(&Request::new("GET", path, host)).status;
    for host in ["10.1.2.3:8080", "10.1.2.3", "[2001:db8::1]:80", "[2001:db8::1]", &format!("localhost:{port}")] {
        assert_eq!((probe("/healthz", host), probe("/readyz", host)), (200, 503), "{host}");
    }
    for host in ["evil.example", "10.1.2.3.evil.example", "localhost", "10.1.2.3:80:80", "user@10.1.2.3", ""] {
        assert_eq!((probe("/healthz", host), probe("/readyz", host)), (403, 403), "{host}");
    }
    let health = Request::new("GET", "/healthz", server.address);
    assert_eq!(server.exchange(&health.clone().with("Origin", "https://evil.example")).status, 403);
    let mut nameless = health.without("Host");
    nameless.line = "GET /healthz HTTP/1.0".into();
    assert_eq!(server.exchange(&nameless).status, 200, "not a browser");
}

//! Checks of `Host` and `Origin` (P19, P20, P21).

use wharf::transport::http::Settings;

use crate::support::http::{Front, Request, Response};

/// The response to the head of a request whose body is not sent.
fn before_the_body(front: &Front, request: &Request) -> Response {
    let mut line = front.connect();
    line.send(&request.clone().set("Content-Length", "1000").head());
    line.response().expect("a response before the body")
}

/// P19.
#[test]
fn p19_a_page_of_another_origin_is_refused_before_its_body() {
    let front = Front::start(Settings::default());
    let port = front.address.port();
    let other = format!("http://127.0.0.1:{}", if port == 1 { 2 } else { port - 1 });
    for origin in ["https://evil", "null", "http://localhost.evil", &other, &format!("http://localhost:{port}.evil")] {
        let response = before_the_body(&front, &front.discover().with("Origin", origin));
        assert_eq!(response.status, 403, "{origin}");
        let error: serde_json::Value = serde_json::from_slice(&response.body).expect("JSON");
        assert_eq!((&error["jsonrpc"], error.get("id")), (&"2.0".into(), None), "{error}");
        assert_eq!(error["error"]["data"]["reason"], "origin_not_allowed");
    }
    for origin in [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}")] {
        let response = front.ask(&front.discover().with("Origin", &origin));
        assert!(response.reached_mcp(), "{origin}: {response:?}");
        assert!(response.cors().is_empty(), "{response:?}");
    }
    assert!(front.ask(&front.discover()).reached_mcp(), "no origin: not a browser");
}

/// P20.
#[test]
fn p20_an_unknown_host_is_refused_before_the_body() {
    let front = Front::start(Settings::default());
    let port = front.address.port();
    let bad = ["evil.example", "localhost", "127.0.0.1"].map(str::to_owned);
    let with_port = ["user@localhost", "localhost.", "0.0.0.0", "2130706433", "evil.example"];
    for host in bad.into_iter().chain(with_port.map(|host| format!("{host}:{port}"))) {
        let response = before_the_body(&front, &front.discover().set("Host", &host));
        assert_eq!(response.status, 403, "{host}: {}", response.text());
    }
    assert_eq!(before_the_body(&front, &front.discover().without("Host")).status, 403);
    let mut absolute = front.discover();
    absolute.line = "POST http://evil.example/mcp HTTP/1.1".into();
    assert_eq!(before_the_body(&front, &absolute).status, 403);
    for host in ["localhost", "127.0.0.1", "[::1]"] {
        assert!(front.ask(&Request::discover(format!("{host}:{port}"))).reached_mcp(), "{host}");
    }
}

#[test]
fn a_host_and_an_origin_can_be_allowed() {
    let settings = Settings {
        allowed_hosts: vec!["tools.example".into()],
        allowed_origins: vec!["https://app.example".into()],
        ..Settings::default()
    };
    let front = Front::start(settings);
    assert!(front.ask(&Request::discover("tools.example")).reached_mcp());
    let response = front.ask(&front.discover().with("Origin", "https://app.example"));
    assert!(response.reached_mcp());
    assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(response.header("vary"), Some("Origin"));

    let preflight = |origin: &str| {
        let request = Request::new("OPTIONS", "/mcp", front.address)
            .with("Origin", origin)
            .with("Access-Control-Request-Method", "POST")
            .with("Access-Control-Request-Headers", "content-type,mcp-method");
        front.ask(&request)
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
    let front = Front::start(Settings::default());
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""] {
        let response = before_the_body(&front, &front.discover().set("Content-Type", content_type));
        assert_eq!((response.status, response.cors().len()), (415, 0), "{content_type}");
    }
    assert_eq!(before_the_body(&front, &front.discover().without("Content-Type")).status, 415);
    let as_json = "application/json; charset=utf-8";
    assert!(front.ask(&front.discover().set("Content-Type", as_json)).reached_mcp());
    let preflight = Request::new("OPTIONS", "/mcp", front.address).with("Access-Control-Request-Method", "POST");
    let own = format!("http://{}", front.address);
    for request in [preflight.clone(), preflight.clone().with("Origin", &own)] {
        let response = front.ask(&request);
        assert_eq!((response.status, response.cors().len()), (405, 0), "{response:?}");
    }
    let response = front.ask(&preflight.with("Origin", "https://evil"));
    assert_eq!((response.status, response.cors().len()), (403, 0), "{response:?}");
}

/// P20: supervisors use an address; a page that rebinds DNS uses its own name.
#[test]
fn p20_health_needs_a_known_host_or_an_address() {
    let front = Front::start(Settings::default());
    let port = front.address.port();
    let probe = |path: &str, host: &str| front.ask(&Request::new("GET", path, host)).status;
    for host in ["10.1.2.3:8080", "10.1.2.3", "[2001:db8::1]:80", "[2001:db8::1]", &format!("localhost:{port}")] {
        assert_eq!((probe("/healthz", host), probe("/readyz", host)), (200, 503), "{host}");
    }
    for host in ["evil.example", "10.1.2.3.evil.example", "localhost", "10.1.2.3:80:80", "user@10.1.2.3", ""] {
        assert_eq!((probe("/healthz", host), probe("/readyz", host)), (403, 403), "{host}");
    }
    let health = Request::new("GET", "/healthz", front.address);
    assert_eq!(front.ask(&health.clone().with("Origin", "https://evil.example")).status, 403);
    let mut nameless = health.without("Host");
    nameless.line = "GET /healthz HTTP/1.0".into();
    assert_eq!(front.ask(&nameless).status, 200, "not a browser");
}

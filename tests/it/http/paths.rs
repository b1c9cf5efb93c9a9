//! Paths and methods (P32), and the health and readiness endpoints.

use serde_json::json;
use wharf::transport::http::Settings;

use crate::support::http::{Front, Request};
use crate::support::streamable::{Endpoint, alone};

/// P32.
#[test]
fn p32_other_paths_and_methods_are_refused() {
    let front = Front::start(Settings::default());
    let status = |method: &str, path: &str| front.ask(&Request::new(method, path, front.address)).status;
    for path in ["/", "/mcp/", "/mcp/x", "/MCP", "/%6dcp", "//mcp", "/mcp/../healthz", "/healthz/x"] {
        assert_eq!(status("GET", path), 404, "{path}");
    }
    for method in ["TRACE", "PUT", "PATCH", "HEAD", "OPTIONS", "BREW"] {
        assert_eq!(status(method, "/mcp"), 405, "{method}");
    }
    assert_eq!((status("TRACE", "/"), status("POST", "/healthz")), (405, 405));
    assert_eq!(status("CONNECT", &front.address.to_string()), 405);
    let refused = front.ask(&Request::new("PUT", "/mcp", front.address));
    assert_eq!(refused.header("allow"), Some("GET, POST, DELETE"));
}

/// P32: also as HTTP status, since intermediaries see only that.
#[test]
fn p32_an_unknown_mcp_method_has_status_404() {
    let front = Front::start(Settings::default());
    // Before the first scan a method might belong to a plugin.
    front.catalog.set_ready();
    let client = Endpoint::new(front.address);
    for method in ["nothing/such", "tools/", "", "initialize"] {
        let refused = client.ask(&alone(1, method, json!({})));
        assert_eq!(refused.status, 404, "{method:?}: {}", refused.text());
        assert!(refused.text().contains("-32601") && refused.text().contains(r#""id":1"#), "{}", refused.text());
    }
}

/// P32.
#[test]
fn p32_an_upgrade_is_ignored() {
    let front = Front::start(Settings::default());
    for protocol in ["websocket", "h2c"] {
        let request = front.discover().with("Connection", "Upgrade").with("Upgrade", protocol);
        let mut line = front.connect();
        assert!(line.ask(&request).reached_mcp(), "{protocol}");
        assert!(line.ask(&front.discover()).reached_mcp(), "{protocol}: the connection remains HTTP/1.1");
    }
}

#[test]
fn health_is_immediate_and_readiness_after_the_first_scan() {
    let front = Front::start(Settings::default());
    let ask = |path: &str| front.ask(&Request::new("GET", path, "10.0.0.7:8080")).status;
    assert_eq!((ask("/healthz"), ask("/readyz")), (200, 503));
    front.catalog.set_ready();
    assert_eq!((ask("/healthz"), ask("/readyz")), (200, 200));
    assert_eq!(front.ask(&Request::new("HEAD", "/healthz", front.address)).status, 200);
}

//! Paths and methods (P32), and the health and readiness endpoints.

use serde_json::json;
use wharf::transport::http::Settings;

use crate::support::http::{HttpServer, Request};
use crate::support::streamable::{Endpoint, stateless};

/// P32.
#[test]
fn p32_other_paths_and_methods_are_refused() {
    let server = HttpServer::start(Settings::default());
    let status = |method: &str, path: &str| server.exchange(&Request::new(method, path, server.address)).status;
    for path in ["/", "/mcp/", "/mcp/x", "/MCP", "/%6dcp", "//mcp", "/mcp/../healthz", "/healthz/x"] {
        assert_eq!(status("GET", path), 404, "{path}");
    }
    for method in ["TRACE", "PUT", "PATCH", "HEAD", "OPTIONS", "BREW"] {
        assert_eq!(status(method, "/mcp"), 405, "{method}");
    }
    assert_eq!((status("TRACE", "/"), status("POST", "/healthz")), (405, 405));
    assert_eq!(status("CONNECT", &server.address.to_string()), 405);
    let refused = server.exchange(&Request::new("PUT", "/mcp", server.address));
    assert_eq!(refused.header("allow"), Some("GET, POST, DELETE"));
}

/// P32: also as HTTP status, since intermediaries see only that.
#[test]
fn p32_an_unknown_mcp_method_has_status_404() {
    let server = HttpServer::start(Settings::default());
    // Before the first scan a method might belong to a plugin.
    server.catalog.set_ready();
    let client = Endpoint::new(server.address);
    for method in ["nothing/such", "tools/", "", "initialize"] {
        let refused = client.exchange(&stateless(1, method, json!({})));
        assert_eq!(refused.status, 404, "{method:?}: {}", refused.text());
        assert!(refused.text().contains("-32601") && refused.text().contains(r#""id":1"#), "{}", refused.text());
    }
}

/// P32.
#[test]
fn p32_an_upgrade_is_ignored() {
    let server = HttpServer::start(Settings::default());
    for protocol in ["websocket", "h2c"] {
        let request = server.discover().with("Connection", "Upgrade").with("Upgrade", protocol);
        let mut connection = server.connect();
        assert!(connection.exchange(&request).reached_mcp(), "{protocol}");
        assert!(connection.exchange(&server.discover()).reached_mcp(), "{protocol}: the connection remains HTTP/1.1");
    }
}

#[test]
fn health_is_immediate_and_readiness_after_the_first_scan() {
    let server = HttpServer::start(Settings::default());
    let exchange = |path: &str| server.exchange(&Request::new("GET", path, "10.0.0.7:8080")).status;
    assert_eq!((exchange("/healthz"), exchange("/readyz")), (200, 503));
    server.catalog.set_ready();
    assert_eq!((exchange("/healthz"), exchange("/readyz")), (200, 200));
    assert_eq!(server.exchange(&Request::new("HEAD", "/healthz", server.address)).status, 200);
}

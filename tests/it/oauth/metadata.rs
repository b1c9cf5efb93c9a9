//! The documents by which clients find the authorization server.

use std::sync::Arc;

use serde_json::{Value, json};
use wharf::oauth::IssuerSettings;
use wharf::transport::http::{OAuth, Settings, Token};

use super::issuer::{Issuer, RESOURCE, SCOPE};
use crate::support::http::{HttpServer, Request};

const AT_THE_ROOT: &str = "/.well-known/oauth-protected-resource";
const OF_THE_ISSUER: &str = "/.well-known/oauth-authorization-server";

fn get(server: &HttpServer, path: &str) -> Request {
    Request::new("GET", path, server.address)
}

#[test]
fn anyone_may_read_where_to_get_a_token() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    for path in ["", "/mcp", "/sse"].map(|path| format!("{AT_THE_ROOT}{path}")) {
        let response = server.exchange(&get(&server, &path));
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")), "{path}");
        assert_eq!(response.header("access-control-allow-origin"), Some("*"));
        assert!(response.header("cache-control").is_some_and(|value| value.contains("max-age")), "{path}");
        let document: Value = serde_json::from_slice(&response.body).expect("JSON");
        assert_eq!(
            document,
            json!({
                "resource": RESOURCE, "authorization_servers": [issuer.url()], "scopes_supported": [SCOPE],
                "bearer_methods_supported": ["header"], "resource_name": "Tools",
            })
        );
        let head = server.exchange(&Request::new("HEAD", &path, server.address));
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(server.exchange(&Request::new("POST", &path, server.address).json("{}")).status, 405);
    }
    for elsewhere in ["/other", "/mcp/", "/mcp/x", "mcp"].map(|path| format!("{AT_THE_ROOT}{path}")) {
        assert_eq!(server.exchange(&get(&server, &elsewhere)).status, 401, "{elsewhere}");
    }
}

/// Pages of any site may run a client; they must be told of the server by its own name.
#[test]
fn pages_of_all_sites_may_read_it_but_only_by_the_servers_name() {
    let server = HttpServer::start(Issuer::start().settings());
    let page = get(&server, AT_THE_ROOT).with("Origin", "https://elsewhere.example");
    assert_eq!(server.exchange(&page).status, 200);
    let mut preflight = page.clone().with("Access-Control-Request-Method", "GET");
    preflight.line = format!("OPTIONS {AT_THE_ROOT} HTTP/1.1");
    let preflight = server.exchange(&preflight.with("Access-Control-Request-Headers", "mcp-protocol-version"));
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("mcp-protocol-version"));
    let rebound = server.exchange(&page.set("Host", "elsewhere.example"));
    assert_eq!((rebound.status, rebound.cors()), (403, vec![]));
}

#[test]
fn without_oauth_there_is_no_metadata() {
    let tokens = vec![Token::new("ci", "0123456789abcdef")];
    for (settings, status) in
        [(Settings::default(), 404), (Settings { tokens: tokens.into(), ..Settings::default() }, 401)]
    {
        let server = HttpServer::start(settings);
        for path in [AT_THE_ROOT, OF_THE_ISSUER] {
            assert_eq!(server.exchange(&get(&server, path)).status, status, "{path}");
        }
    }
}

/// They look for the metadata of the authorization server at the MCP server.
#[test]
fn clients_of_2025_03_26_get_the_document_of_the_issuer() {
    let issuer = Issuer::down();
    let oauth = issuer.oauth(vec![IssuerSettings::new(issuer.url())]);
    let oauth = OAuth { legacy_metadata: true, ..oauth };
    let server = HttpServer::start(Settings { oauth: Some(Arc::new(oauth)), ..Settings::default() });
    let down = server.exchange(&get(&server, OF_THE_ISSUER));
    assert_eq!((down.status, down.header("retry-after")), (503, Some("5")));
    assert_eq!(down.header("access-control-allow-origin"), Some("*"));
    let up = Issuer::start();
    let oauth = OAuth { legacy_metadata: true, ..up.oauth(vec![IssuerSettings::new(up.url())]) };
    let server = HttpServer::start(Settings { oauth: Some(Arc::new(oauth)), ..Settings::default() });
    let response = server.exchange(&get(&server, OF_THE_ISSUER));
    assert_eq!((response.status, response.text()), (200, up.metadata().as_str()));
    // Only where it is wanted.
    let server = HttpServer::start(up.settings());
    assert_eq!(server.exchange(&get(&server, OF_THE_ISSUER)).status, 401);
}

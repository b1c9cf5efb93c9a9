//! Unknown resources (P33): a URI is looked up, never opened.

use serde_json::{Value, json};
use wharf::transport::http::Settings;

use crate::support::MODERN;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Response};
use crate::support::process::Process;
use crate::support::streamable::{Endpoint, request, stateless};

/// Maximum number of characters of a URI in an error.
const ECHOED: usize = 256;

/// None of these is `test://static-text`, and none matches `test://template/{id}/data`.
const UNKNOWN: [&str; 14] = [
    "file:///etc/passwd",
    "file:///etc/passwd#test://static-text",
    "/etc/passwd",
    "../../etc/passwd",
    "test://static-text/../../etc/passwd",
    "test://static-text/",
    "test://static-text%00",
    "TEST://static-text",
    "test://template/a/../b/data",
    "test://template/a%2Fb/../data/x",
    "ui://everything/../x",
    "test:",
    "",
    "\0\n\u{202e}",
];

fn check(error: &Value, code: i64, uri: &str) {
    assert_eq!(error["code"], code, "{uri:.80}: {error:.400}");
    let echoed = error["data"]["uri"].as_str().unwrap_or_default().chars().count();
    assert!(echoed <= ECHOED + 1, "{echoed} characters of {uri:.80}");
    assert!(error.to_string().len() < 4096, "{uri:.80}: {error:.400}");
}

fn error(response: &Response) -> Value {
    let mut body: Value =
        serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    body["error"].take()
}

fn long(characters: usize) -> String {
    format!("test://{}", "x".repeat(characters))
}

/// P33.
#[test]
fn p33_an_unknown_resource_is_not_found_on_stdio() {
    let home = Home::with(&["echo", "everything"]);
    for (revision, code) in [(MODERN, -32602), ("2025-11-25", -32002)] {
        let mut client = Client::with_capabilities(Process::serve(&home), revision, json!({}));
        for uri in UNKNOWN.map(str::to_owned).into_iter().chain([long(1 << 20)]) {
            check(&client.error("resources/read", json!({ "uri": uri })), code, &uri);
        }
        let read = client.result("resources/read", json!({"uri": "test://static-text"}));
        assert_eq!(read["contents"][0]["uri"], "test://static-text");
    }
}

/// P33: a URI that is too long for a header is refused before the body is read.
#[test]
fn p33_an_unknown_resource_is_not_found_over_http() {
    let server = HttpServer::serve(&Home::with(&["echo", "everything"]), Settings::default());
    let client = Endpoint::new(server.address);
    let read = |uri: &str| client.exchange(&stateless(1, "resources/read", json!({ "uri": uri })));
    for uri in UNKNOWN.map(str::to_owned).into_iter().chain([long(20_000)]) {
        let response = read(&uri);
        assert_eq!(response.status, 200, "{uri:.80}");
        check(&error(&response), -32602, &uri);
    }
    assert_eq!(read(&long(1 << 20)).status, 431);
    let session = Endpoint::initialize(server.address, "2025-11-25");
    let uri = long(1 << 20);
    check(&error(&session.exchange(&request(1, "resources/read", json!({ "uri": uri })))), -32002, &uri);
    assert_eq!(read("test://static-text").status, 200);
}

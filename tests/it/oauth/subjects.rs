//! Two users, each with a valid token, who try what they can on each other.

use std::sync::Arc;

use serde_json::{Value, json};
use wharf::oauth::IssuerSettings;
use wharf::transport::http::{OAuth, Settings, Token, TokenSet};

use super::expiry::session;
use super::issuer::{Issuer, by};
use crate::support::client::first_text;
use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Request, Response};
use crate::support::streamable::{Endpoint, request, stateless};

fn answer(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice(&response.body).expect("JSON")
}

#[test]
fn a_session_belongs_to_its_subject() {
    let issuer = Issuer::start();
    let other = Issuer::start();
    let issuers = [&issuer, &other].map(|issuer| IssuerSettings::new(issuer.url())).to_vec();
    let oauth = Some(Arc::new(issuer.oauth(issuers)));
    let server = HttpServer::start(Settings { oauth, ..issuer.settings() });
    let alice = issuer.token("alice");
    let client = session(&server, &alice);
    let ping = client.post(&request(1, "ping", json!({})));
    let resume = client.get().with("Last-Event-ID", "0-0");
    // The same subject of another issuer is somebody else.
    for stranger in [issuer.token("bob"), other.token("alice"), issuer.token("Alice")] {
        for request in [ping.clone(), client.get(), resume.clone(), client.delete()] {
            assert_eq!(server.exchange(&by(request.clone(), &stranger)).status, 404, "{}", request.line);
        }
    }
    // Another token of the same subject goes on, with what that token may do.
    assert_eq!(server.exchange(&by(ping.clone(), &issuer.with("alice", "jti", json!("2")))).status, 200);
    assert_eq!(server.exchange(&by(ping.clone(), &issuer.with("alice", "scope", json!("other")))).status, 403);
    assert_eq!(server.exchange(&by(ping.clone(), &alice)).status, 200);
    assert_eq!(server.exchange(&ping).status, 401, "the session is no token");
    assert_eq!(server.exchange(&by(client.delete(), &alice)).status, 200);
}

#[test]
fn a_session_of_http_sse_belongs_to_its_subject() {
    let issuer = Issuer::start();
    let server = HttpServer::start(issuer.settings());
    let alice = issuer.token("alice");
    let mut stream = Events::open(server.connect(), &by(Request::new("GET", "/sse", server.address), &alice));
    let path = stream.next_event().expect("an endpoint").data;
    let ping = |id: u64, token: &str| {
        let post = Request::new("POST", &path, server.address).json(request(id, "ping", json!({})).to_string());
        server.exchange(&by(post, token)).status
    };
    assert_eq!((ping(1, &issuer.token("bob")), ping(2, &alice)), (404, 202));
    assert_eq!(stream.next_message().expect("an answer").json()["id"], 2);
}

/// The state that a plugin leaves with a client.
#[test]
fn a_request_state_belongs_to_its_subject() {
    let issuer = Issuer::start();
    let server = HttpServer::serve(&Home::with(&["everything"]), issuer.settings());
    let tool = "everything_test_input_required_result_list_roots";
    let call = |token: &str, params: Value| {
        let mut message = stateless(1, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
        answer(&server.exchange(&by(Endpoint::new(server.address).post(&message), token)))
    };
    let asked = call(&issuer.token("alice"), json!({"name": tool}));
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state: {asked}"));
    let answers = json!({"client_roots": {"roots": [{"uri": "file:///a"}]}});
    let retry = json!({"name": tool, "requestState": state, "inputResponses": answers});
    let stolen = call(&issuer.token("bob"), retry.clone());
    assert_eq!(stolen["error"]["data"]["reason"], "invalid_request_state", "{stolen}");
    let refreshed = issuer.with("alice", "jti", json!("2"));
    assert_eq!(first_text(&call(&refreshed, retry)["result"]), "1 folders", "it is still valid for its owner");
}

#[test]
fn nobody_cancels_or_watches_what_others_do() {
    let issuer = Issuer::start();
    let server = HttpServer::serve(&Home::with(&["everything"]), issuer.settings());
    let (alice, bob) = (issuer.token("alice"), issuer.token("bob"));
    let (hers, his) = (session(&server, &alice), session(&server, &bob));
    let mut watched = Events::open(server.connect(), &by(his.get(), &bob));
    let watch = json!({"uri": "test://watched-resource"});
    let watching = server.exchange(&by(hers.post(&request(1, "resources/subscribe", watch.clone())), &alice));
    assert_eq!(watching.status, 200);
    let slow = json!({"name": "everything_slow_compute", "arguments": {"seconds": 1.0}});
    let mut call = request(5, "tools/call", slow.clone());
    call["params"]["_meta"]["progressToken"] = json!("p");
    let mut running = Events::open(server.connect(), &by(hers.post(&call), &alice));
    running.next_message().expect("it runs");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    assert_eq!(server.exchange(&by(hers.post(&cancel), &bob)).status, 404);
    assert_eq!(server.exchange(&by(his.post(&cancel), &bob)).status, 202);
    let last = std::iter::from_fn(|| running.next_message()).last().expect("an answer").json();
    assert_eq!((&last["id"], last.get("result").is_some()), (&json!(5), true), "{last}");
    // An update that only she watches, then one of the tools' lists, which all are told of.
    let update = json!({"name": "everything_test_update_resource", "arguments": {}});
    assert_eq!(server.exchange(&by(hers.post(&request(6, "tools/call", update)), &alice)).status, 200);
    server.catalog.set_ready();
    let unsubscribe = server.exchange(&by(his.post(&request(7, "resources/unsubscribe", watch)), &bob));
    assert_eq!(unsubscribe.status, 200, "what is not watched");
    assert_eq!(server.exchange(&by(his.delete(), &bob)).status, 200);
    let seen: Vec<_> = std::iter::from_fn(|| watched.next_message()).map(|event| event.data).collect();
    assert!(!seen.iter().any(|data| data.contains("watched-resource")), "{seen:?}");
}

/// Replaced static tokens end the sessions of their owners, and no others.
#[test]
fn sessions_of_oauth_outlive_static_tokens() {
    let issuer = Issuer::start();
    let (first, second) = ("0123456789abcdef", "fedcba9876543210");
    let tokens = TokenSet::from(vec![Token::new("ci", first)]);
    let server = HttpServer::start(Settings { tokens: tokens.clone(), ..issuer.settings() });
    let alice = issuer.token("alice");
    let (hers, ci) = (session(&server, &alice), session(&server, first));
    tokens.replace(vec![Token::new("cd", second)]);
    let ping = |client: &Endpoint, token: &str| {
        server.exchange(&by(client.post(&request(1, "ping", json!({}))), token)).status
    };
    assert_eq!((ping(&ci, first), ping(&ci, second), ping(&hers, &alice)), (401, 404, 200));
    // The last one may go too: those of OAuth are still needed.
    tokens.replace(Vec::new());
    assert_eq!((ping(&hers, &alice), server.exchange(&server.discover()).status), (200, 401));
}

/// Requests of several users may come over one connection, as a proxy sends them.
#[test]
fn each_request_of_a_connection_has_its_own_identity() {
    let issuer = Issuer::start();
    let home = Home::with(&["everything"]);
    let oauth = OAuth { scopes: Vec::new(), ..issuer.oauth(vec![IssuerSettings::new(issuer.url())]) };
    let server = HttpServer::serve(&home, Settings { oauth: Some(Arc::new(oauth)), ..Settings::default() });
    let tool = "everything_test_input_required_result_list_roots";
    let mut connection = server.connect();
    let mut call = |subject: &str, params: Value| {
        let mut message = stateless(1, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}});
        let post = by(Endpoint::new(server.address).post(&message), &issuer.token(subject));
        answer(&connection.exchange(&post))
    };
    for round in 0..4 {
        let state = call("alice", json!({"name": tool}))["result"]["requestState"].clone();
        let answers = json!({"client_roots": {"roots": []}});
        let retry = json!({"name": tool, "requestState": state, "inputResponses": answers});
        let stolen = call("bob", retry.clone());
        assert_eq!(stolen["error"]["data"]["reason"], "invalid_request_state", "{round}: {stolen}");
        assert_eq!(first_text(&call("alice", retry)["result"]), "0 folders", "{round}");
    }
}

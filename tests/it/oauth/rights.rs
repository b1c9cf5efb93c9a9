//! `[rights]` by the claims of access tokens: what each may use, and how a client gets more.

use serde_json::{Value, json};

use super::issuer::{Issuer, RESOURCE, by};
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Response, serve};
use crate::support::streamable::{Endpoint, initialize, request, stateless};

const RULES: &str = "[rights]\ndefault = 'nothing'\ndenied = 'challenge'\n\
    scopes = { admin = ['notes:write', 'notes:read'] }\n\
    [[rights.rules]]\nname = 'readers'\nwhen = { scope = 'notes:read' }\ntools = ['notes/list']\n\
    [[rights.rules]]\nname = 'writers'\nwhen = { scope = 'notes:write notes:read', group = 'staff' }\n\
    plugins = ['notes']\n\
    [[rights.rules]]\nwhen = { claims = { 'org.id' = 'acme', level = [2, 3] } }\nplugins = ['text']\n";

fn start(issuer: &Issuer, options: &[&str]) -> (Home, crate::support::process::Process, std::net::SocketAddr) {
    let home = Home::with(&["notes", "text"]);
    home.configure(&format!(
        "[server.http.oauth]\nresource = '{RESOURCE}'\nscopes = ['mcp']\nissuers = [{{ issuer = '{}' }}]\n\
         [plugins.notes.grants]\nkeyvalue = true\n{RULES}",
        issuer.url()
    ));
    let (process, address) = serve(&home, options);
    (home, process, address)
}

fn token(issuer: &Issuer, scope: &str, groups: &[&str]) -> String {
    let mut claims = issuer.claims("ada");
    claims["scope"] = json!(scope);
    claims["groups"] = json!(groups);
    issuer.sign(&claims)
}

/// A client in a session, and one without.
fn both(address: std::net::SocketAddr, token: &str) -> [Endpoint; 2] {
    let mut session = Endpoint::new(address);
    let opened = exchange(&session, &initialize("2025-11-25"), token);
    session.session = opened.header("mcp-session-id").map(str::to_owned);
    session.version = Some("2025-11-25".into());
    exchange(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), token);
    [session, Endpoint::new(address)]
}

fn exchange(endpoint: &Endpoint, message: &Value, token: &str) -> Response {
    HttpConnection::connect(endpoint.address).exchange(&by(endpoint.post(message), token))
}

fn ask(endpoint: &Endpoint, method: &str, params: Value, token: &str) -> Response {
    let message = if endpoint.session.is_some() { request } else { stateless };
    exchange(endpoint, &message(1, method, params), token)
}

fn tools(endpoint: &Endpoint, token: &str) -> Vec<String> {
    let response = ask(endpoint, "tools/list", json!({}), token);
    let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

/// A client of a session, and one of 2026-07-28, get more scopes and go on.
#[test]
fn a_client_is_told_which_scopes_it_needs() {
    let issuer = Issuer::start();
    let (_home, _process, address) = start(&issuer, &[]);
    let reader = token(&issuer, "mcp notes:read", &["staff"]);
    for endpoint in both(address, &reader) {
        // Listed, since more scopes would allow it.
        assert_eq!(tools(&endpoint, &reader), ["notes_add", "notes_list", "notes_search", "notes_delete"]);
        let add = json!({"name": "notes_add", "arguments": {"text": "x"}});
        let refused = ask(&endpoint, "tools/call", add.clone(), &reader);
        assert_eq!(refused.status, 403, "{}", refused.text());
        let challenge = refused.header("www-authenticate").expect("a challenge");
        assert!(challenge.starts_with("Bearer error=\"insufficient_scope\""), "{challenge}");
        assert!(challenge.contains("resource_metadata=\"https://tools.example/.well-known/"), "{challenge}");
        assert!(challenge.ends_with("scope=\"mcp notes:write notes:read\""), "{challenge}");
        let error: Value = serde_json::from_slice(&refused.body).expect("JSON");
        assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32003)), "{error}");
        assert_eq!(
            error["error"]["data"],
            json!({"reason": "insufficient_scope", "scope": "mcp notes:write notes:read"})
        );
        // The same session with another token of the same user.
        for more in ["mcp notes:read notes:write", "mcp admin"] {
            let answer = ask(&endpoint, "tools/call", add.clone(), &token(&issuer, more, &["staff"]));
            let status = answer.status;
            assert!(status == 200 && !answer.text().contains("error"), "{}", answer.text());
        }
        // Taken away: the next request is refused.
        assert_eq!(ask(&endpoint, "tools/call", add.clone(), &reader).status, 403);
        // No scope would help them.
        let stranger = token(&issuer, "mcp notes:read", &["guests"]);
        assert_eq!(tools(&endpoint, &stranger), ["notes_list"]);
        let hidden = ask(&endpoint, "tools/call", add, &stranger);
        assert!(hidden.status == 200 && hidden.text().contains("tool_not_found"), "{}", hidden.text());
        let prompt = ask(&endpoint, "prompts/get", json!({"name": "notes_summarise", "arguments": {}}), &reader);
        assert_eq!(prompt.status, 403, "{}", prompt.text());
        let read = ask(&endpoint, "resources/read", json!({"uri": "notes://1"}), &reader);
        assert_eq!(read.status, 403, "{}", read.text());
    }
}

/// Where there is no status for one request, there is the error.
#[test]
fn in_a_batch_there_is_only_the_error() {
    let issuer = Issuer::start();
    let (_home, _process, address) = start(&issuer, &[]);
    let reader = token(&issuer, "mcp notes:read", &["staff"]);
    let mut session = Endpoint::new(address);
    let opened = exchange(&session, &initialize("2025-03-26"), &reader);
    session.session = opened.header("mcp-session-id").map(str::to_owned);
    exchange(&session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &reader);
    let call = |id: u64, tool: &str| request(id, "tools/call", json!({"name": tool, "arguments": {"text": "x"}}));
    let batch = json!([call(1, "notes_add"), request(2, "ping", json!({}))]);
    let answer = exchange(&session, &batch, &reader);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("insufficient_scope") && answer.text().contains("\"id\":2"), "{}", answer.text());
}

#[test]
fn claims_decide_and_the_sum_of_all_tokens_does_not() {
    let issuer = Issuer::start();
    let (_home, _process, address) = start(&issuer, &[]);
    let with = |org: Value, level: Value| {
        let mut claims = issuer.claims("ada");
        (claims["org"], claims["level"]) = (org, level);
        issuer.sign(&claims)
    };
    let acme = with(json!({"id": "acme"}), json!(3));
    for endpoint in both(address, &acme) {
        assert!(tools(&endpoint, &acme).iter().any(|tool| tool == "text_diff"));
        for other in [
            with(json!({"id": "acme"}), json!(4)),
            with(json!({"id": "acme"}), json!("3")),
            with(json!({"id": "Acme"}), json!(3)),
            with(json!("acme"), json!(3)),
            with(Value::Null, json!(3)),
        ] {
            assert!(!tools(&endpoint, &other).iter().any(|tool| tool == "text_diff"));
        }
    }
}

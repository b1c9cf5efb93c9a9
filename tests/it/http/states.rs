//! The request state that a client holds between two rounds (P25): it is bound to its principal
//! and its tool. Expiry and random corruption are tested with the seal in the host.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use wharf::transport::http::{Settings, Token};

use crate::support::client::first_text;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Response};
use crate::support::streamable::{Endpoint, stateless};

const MINE: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";
const ROOTS: &str = "everything_test_input_required_result_list_roots";
const ROUNDS: &str = "everything_test_input_required_result_multi_round";

fn server() -> HttpServer {
    let tokens = vec![Token::new("me", MINE), Token::new("other", OTHER)];
    HttpServer::serve(&Home::with(&["everything"]), Settings { tokens: tokens.into(), ..Settings::default() })
}

fn call(server: &HttpServer, token: &str, params: Value) -> Response {
    let mut message = stateless(1, "tools/call", params);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"roots": {}, "elicitation": {}});
    server.exchange(&Endpoint::new(server.address).post(&message).with("Authorization", &format!("Bearer {token}")))
}

fn answer(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"))
}

/// The next round of the call that asked for roots.
fn retry(tool: &str, state: &str) -> Value {
    let answers = json!({"client_roots": {"roots": [{"uri": "file:///a"}]}});
    json!({"name": tool, "requestState": state, "inputResponses": answers})
}

#[test]
fn p25_a_state_is_bound_to_its_principal_and_tool() {
    let server = server();
    let asked = answer(&call(&server, MINE, json!({"name": ROOTS})));
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state: {asked}"));
    for (what, token, params) in [
        ("another principal", OTHER, retry(ROOTS, state)),
        ("another tool", MINE, retry(ROUNDS, state)),
        ("both", OTHER, retry(ROUNDS, state)),
        ("no state at all", MINE, retry(ROOTS, "")),
    ] {
        let refused = answer(&call(&server, token, params));
        let error = &refused["error"];
        assert_eq!(
            (&error["code"], &error["data"]["reason"]),
            (&json!(-32602), &json!("invalid_request_state")),
            "{what}: {refused}"
        );
        assert!(!refused.to_string().contains("file:///a"), "{what}: {refused}");
    }
    assert_eq!(call(&server, "", retry(ROOTS, state)).status, 400, "a state does not authenticate");
    assert_eq!(
        first_text(&answer(&call(&server, MINE, retry(ROOTS, state)))["result"]),
        "1 folders",
        "the state is still valid"
    );
}

#[test]
fn p25_a_state_with_a_bit_flipped_is_refused() {
    let server = server();
    let asked = answer(&call(&server, MINE, json!({"name": ROOTS})));
    let state = asked["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state: {asked}"));
    let bytes = URL_SAFE_NO_PAD.decode(state).expect("base64url");
    assert!(bytes.len() >= 16 + 24, "it has a nonce and a tag of 128 bits");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let refused = answer(&call(&server, MINE, retry(ROOTS, &URL_SAFE_NO_PAD.encode(&changed))));
        assert_eq!(refused["error"]["code"], -32602, "byte {at}: {refused}");
    }
}

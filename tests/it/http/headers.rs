//! The MCP headers of a request of 2026-07-28 compared with its body, and the status of refusals
//! (P16, P17; "Standard Headers" and "Custom Headers").

use serde_json::{Value, json};
use wharf::transport::http::Settings;

use crate::support::MODERN;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpServer, Request, Response};
use crate::support::streamable::{Endpoint, plain, request, stateless};

const MISMATCH: i64 = -32020;

fn server() -> HttpServer {
    HttpServer::serve(&Home::with(&["echo", "everything"]), Settings::default())
}

fn error(response: &Response) -> (u16, i64) {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    assert_eq!(response.header("content-type"), Some("application/json"), "{body}");
    assert_eq!(response.header("mcp-session-id"), None, "{body}");
    (response.status, body["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {body}")))
}

fn text(response: &Response) -> String {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    assert_eq!(response.status, 200, "{body}");
    body["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {body}")).to_owned()
}

fn echo(server: &HttpServer) -> Request {
    Endpoint::new(server.address).post(&stateless(
        1,
        "tools/call",
        json!({"name": "echo", "arguments": {"message": "x"}}),
    ))
}

/// P16.
#[test]
fn p16_headers_must_match_the_body() {
    let server = server();
    let good = echo(&server);
    assert_eq!(text(&server.exchange(&good)), "x");
    for (what, request) in [
        ("no version", good.clone().without("MCP-Protocol-Version")),
        ("another version", good.clone().set("MCP-Protocol-Version", "2025-11-25")),
        ("an unknown version", good.clone().set("MCP-Protocol-Version", "v999.0.0")),
        ("an empty version", good.clone().set("MCP-Protocol-Version", "")),
        ("two versions", good.clone().with("MCP-Protocol-Version", "2025-11-25")),
        ("no method", good.clone().without("Mcp-Method")),
        ("another method", good.clone().set("Mcp-Method", "tools/list")),
        ("a method in capitals", good.clone().set("Mcp-Method", "TOOLS/CALL")),
        ("a coded method", good.clone().set("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?=")),
        ("two methods", good.clone().with("Mcp-Method", "tools/list")),
        ("no name", good.clone().without("Mcp-Name")),
        ("another name", good.clone().set("Mcp-Name", "echo_add")),
        ("a name in capitals", good.clone().set("Mcp-Name", "ECHO")),
        ("two versions of one value", good.clone().with("MCP-Protocol-Version", MODERN)),
        ("two methods of one value", good.clone().with("mcp-method", "tools/call")),
        ("two names of one value", good.clone().with("Mcp-Name", "echo")),
        ("two names", good.clone().with("Mcp-Name", "echo_add")),
        ("two sessions", good.clone().with("Mcp-Session-Id", "a").with("Mcp-Session-Id", "b")),
        ("two events", good.clone().with("Last-Event-ID", "a").with("Last-Event-ID", "a")),
        ("a name in no base64", good.clone().set("Mcp-Name", "=?base64?ZWNo*w==?=")),
        ("a name in base64 of no UTF-8", good.clone().set("Mcp-Name", "=?base64?//8=?=")),
        ("a sentinel in capitals", good.clone().set("Mcp-Name", "=?BASE64?ZWNobw==?=")),
        ("another name in base64", good.clone().set("Mcp-Name", "=?base64?ZWNobzI=?=")),
    ] {
        let response = server.exchange(&request);
        assert_eq!(error(&response), (400, MISMATCH), "{what}: {}", response.text());
        // A repeated header is refused before the body is read, so the error has no id.
        assert!(what.starts_with("two") || response.text().contains(r#""id":1"#), "{what}: {}", response.text());
    }
    for (what, request) in [
        ("names in any case", good.clone().without("Mcp-Name").with("mCP-nAME", "echo")),
        ("a coded name", good.clone().set("Mcp-Name", "=?base64?ZWNobw==?=")),
        ("surrounding spaces", good.clone().set("Mcp-Name", "  echo \t ")),
    ] {
        assert_eq!(text(&server.exchange(&request)), "x", "{what}");
    }
}

/// P16: a name that looks like the sentinel must itself be encoded.
#[test]
fn p16_a_name_like_the_sentinel_must_be_encoded() {
    let server = server();
    let literal = "=?base64?ZWNobw==?=";
    let call = Endpoint::new(server.address).post(&stateless(1, "tools/call", json!({"name": literal})));
    assert_eq!(error(&server.exchange(&call.clone().set("Mcp-Name", literal))), (400, MISMATCH), "it decodes to echo");
    assert_eq!(error(&server.exchange(&call.set("Mcp-Name", &plain(literal)))), (200, -32602), "there is no such tool");
}

/// Which parameter is the name depends on the method; some methods have none.
#[test]
fn the_name_header_depends_on_the_method() {
    let server = server();
    let client = Endpoint::new(server.address);
    let uri = "test://static-text";
    let read = client.post(&stateless(1, "resources/read", json!({"uri": uri})));
    assert_eq!(server.exchange(&read).status, 200);
    assert_eq!(error(&server.exchange(&read.clone().without("Mcp-Name"))), (400, MISMATCH));
    assert_eq!(error(&server.exchange(&read.set("Mcp-Name", "test://other"))), (400, MISMATCH));
    let prompt = client.post(&stateless(1, "prompts/get", json!({"name": "everything_test_simple_prompt"})));
    assert_eq!(server.exchange(&prompt).status, 200);
    assert_eq!(error(&server.exchange(&prompt.without("Mcp-Name"))), (400, MISMATCH));
    let list = client.post(&stateless(1, "tools/list", json!({})));
    assert_eq!(server.exchange(&list.clone()).status, 200);
    assert_eq!(server.exchange(&list.with("Mcp-Name", "whatever")).status, 200, "the method has no name");
    let uri = "test://é ü";
    let unknown = client.post(&stateless(1, "resources/read", json!({"uri": uri})));
    assert!(unknown.headers.iter().any(|(_, value)| value.starts_with("=?base64?")));
    assert_eq!(error(&server.exchange(&unknown)).0, 200, "no such resource, but the header matches");
}

/// A tool with arguments of each type mirrored in headers, one of them nested.
fn mirroring() -> HttpServer {
    let schema = r#"{"type":"object","properties":{
        "plain":{"type":"string","x-mcp-header":"Region"},
        "count":{"type":"integer","x-mcp-header":"Count"},
        "on":{"type":"boolean","x-mcp-header":"On"},
        "deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deep-Er"}}},
        "free":{"type":"string"}}}"#;
    let home = Home::new();
    home.put_bytes(&Guest::returning("taken").tools(&[("take", schema)]).build(), "mirror");
    HttpServer::serve(&home, Settings::default())
}

/// P17.
#[test]
fn p17_arguments_in_headers_must_match_the_body() {
    let server = mirroring();
    let exchange = |arguments: Value, headers: &[(&str, &str)]| {
        let name = "mirror_take";
        let call = stateless(1, "tools/call", json!({"name": name, "arguments": arguments}));
        let request = Endpoint::new(server.address).post(&call);
        server.exchange(&headers.iter().fold(request, |request, (name, value)| request.with(name, value)))
    };
    for (arguments, headers) in [
        (json!({}), &[][..]),
        (json!({"plain": "eu west"}), &[("Mcp-Param-Region", "eu west")]),
        (json!({"plain": "eu"}), &[("mcp-param-region", "=?base64?ZXU=?=")]),
        (json!({"plain": "é"}), &[("MCP-PARAM-REGION", "=?base64?w6k=?=")]),
        (json!({"plain": " "}), &[("Mcp-Param-Region", "=?base64?IA==?=")]),
        (json!({"plain": ""}), &[("Mcp-Param-Region", "")]),
        (json!({"count": 42}), &[("Mcp-Param-Count", "42")]),
        (json!({"count": 42}), &[("Mcp-Param-Count", "42.0")]),
        (json!({"count": 42.0}), &[("Mcp-Param-Count", "42")]),
        (json!({"count": -1}), &[("Mcp-Param-Count", "-1")]),
        (json!({"count": 9_007_199_254_740_993_i64}), &[("Mcp-Param-Count", "9007199254740993")]),
        (json!({"on": true}), &[("Mcp-Param-On", "true")]),
        (json!({"deep": {"er": "x"}}), &[("Mcp-Param-Deep-Er", "x")]),
        (json!({"free": "x"}), &[("Mcp-Param-Unknown", "ignored")]),
    ] {
        let response = exchange(arguments.clone(), headers);
        assert_eq!(text(&response), "taken", "{arguments} {headers:?}");
    }
    for (arguments, headers) in [
        (json!({"plain": "eu"}), &[][..]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "us")]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "EU")]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "=?base64?dXM=?=")]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "=?base64?Z*U=?=")]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "us")]),
        (json!({"plain": "eu"}), &[("Mcp-Param-Region", "eu"), ("Mcp-Param-Region", "eu")]),
        (json!({}), &[("Mcp-Param-Region", "eu")]),
        (json!({"plain": null}), &[("Mcp-Param-Region", "null")]),
        (json!({"count": 42}), &[("Mcp-Param-Count", "43")]),
        (json!({"count": 42}), &[("Mcp-Param-Count", "0x2a")]),
        (json!({"count": 42}), &[("Mcp-Param-Count", "forty-two")]),
        (json!({"count": 9_007_199_254_740_993_i64}), &[("Mcp-Param-Count", "9007199254740992")]),
        (json!({"on": true}), &[("Mcp-Param-On", "True")]),
        (json!({"on": true}), &[("Mcp-Param-On", "1")]),
        (json!({"deep": {"er": "x"}}), &[]),
        (json!({"deep": {"er": "x"}}), &[("Mcp-Param-Deep-Er", "y")]),
    ] {
        let response = exchange(arguments.clone(), headers);
        assert_eq!(error(&response), (400, MISMATCH), "{arguments} {headers:?}: {}", response.text());
    }
}

/// The older revisions ignore these headers.
#[test]
fn p17_sessions_ignore_argument_headers() {
    let server = mirroring();
    let client = Endpoint::initialize(server.address, "2025-11-25");
    let call = request(1, "tools/call", json!({"name": "mirror_take", "arguments": {"plain": "eu"}}));
    let request = client.post(&call).with("Mcp-Param-Region", "us").with("Mcp-Method", "x").with("Mcp-Name", "y");
    assert_eq!(text(&server.exchange(&request)), "taken");
}

/// HM-13: clients must drop such a tool, so it is not listed.
#[test]
fn a_tool_with_an_invalid_header_is_not_listed() {
    let good = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
    for bad in [
        r#"{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A B"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
    ] {
        let home = Home::new();
        home.put_bytes(&Guest::returning("1").tools(&[("good", good), ("bad", bad)]).build(), "mirror");
        let server = HttpServer::serve(&home, Settings::default());
        let list = server.exchange(&Endpoint::new(server.address).post(&stateless(1, "tools/list", json!({}))));
        let list: Value = serde_json::from_slice(&list.body).expect("JSON");
        let names: Vec<_> =
            list["result"]["tools"].as_array().expect("tools").iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["mirror_good"], "{bad}");
    }
}

/// The order of the checks: each request fails one check and all later ones.
#[test]
fn the_first_failed_check_is_reported() {
    let server = server();
    let post = |meta: Value, method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = meta;
        let body = json!({"jsonrpc": "2.0", "id": "i", "method": method, "params": params}).to_string();
        Request::new("POST", "/mcp", server.address)
            .with("Accept", "application/json, text/event-stream")
            .with("MCP-Protocol-Version", MODERN)
            .with("Mcp-Method", method)
            .json(body)
    };
    let meta = |version: Value| json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    let with = |name: &str, value: Value| {
        let mut meta = meta(json!(MODERN));
        meta[name] = value;
        meta
    };
    let good = || meta(json!(MODERN));
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (what, request, expected) in [
        ("1: a version of the wrong type", post(meta(json!(1)), "x", json!({})).set("Mcp-Method", "y"), (400, -32602)),
        (
            "1: no capabilities",
            post(with(capabilities, Value::Null), "x", json!({})).without("MCP-Protocol-Version"),
            (400, -32602),
        ),
        ("1: a bad client", post(with("io.modelcontextprotocol/clientInfo", json!(1)), "x", json!({})), (400, -32602)),
        (
            "1: a bad level",
            post(with("io.modelcontextprotocol/logLevel", json!("loud")), "x", json!({})),
            (400, -32602),
        ),
        (
            "2: no version",
            post(meta(json!("v999.0.0")), "x", json!({})).without("MCP-Protocol-Version"),
            (400, MISMATCH),
        ),
        ("2: another version", post(meta(json!("v999.0.0")), "x", json!({})), (400, MISMATCH)),
        ("2: an older one in the body", post(meta(json!("2025-11-25")), "tools/list", json!({})), (400, MISMATCH)),
        (
            "3: an unknown version",
            post(meta(json!("v999.0.0")), "x", json!({})).set("MCP-Protocol-Version", "v999.0.0").without("Mcp-Method"),
            (400, -32022),
        ),
        (
            "3: an older version",
            post(meta(json!("2025-11-25")), "tools/list", json!({})).set("MCP-Protocol-Version", "2025-11-25"),
            (400, -32022),
        ),
        ("4: no method", post(good(), "initialize", json!({})).without("Mcp-Method"), (400, MISMATCH)),
        ("4: no name", post(good(), "tools/call", json!({"name": "nobody", "arguments": 1})), (400, MISMATCH)),
        ("5: an unknown method", post(good(), "nothing/such", json!({})), (404, -32601)),
        ("5: a removed one", post(good(), "initialize", json!({})), (404, -32601)),
        ("5: another", post(good(), "ping", json!({})), (404, -32601)),
        ("5: and another", post(good(), "resources/subscribe", json!({"uri": 1})), (404, -32601)),
        (
            "6: a missing capability",
            post(good(), "tools/call", json!({"name": "everything_test_missing_capability"}))
                .with("Mcp-Name", "everything_test_missing_capability"),
            (400, -32021),
        ),
        (
            "7: an unknown tool",
            post(good(), "tools/call", json!({"name": "nobody"})).with("Mcp-Name", "nobody"),
            (200, -32602),
        ),
        ("7: a bad cursor", post(good(), "tools/list", json!({"cursor": "x"})), (200, -32602)),
        (
            "7: no resource",
            post(good(), "resources/read", json!({"uri": "x:y"})).with("Mcp-Name", "x:y"),
            (200, -32602),
        ),
    ] {
        let response = server.exchange(&request);
        assert_eq!(error(&response), expected, "{what}: {}", response.text());
        assert!(response.text().contains(r#""id":"i""#), "{what}: {}", response.text());
    }
    let unsupported =
        post(meta(json!("2025-11-25")), "tools/list", json!({})).set("MCP-Protocol-Version", "2025-11-25");
    let body: Value = serde_json::from_slice(&server.exchange(&unsupported).body).expect("JSON");
    assert_eq!(body["error"]["data"]["supported"], json!([MODERN]));
    assert_eq!(body["error"]["data"]["requested"], "2025-11-25");
}

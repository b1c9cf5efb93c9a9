//! The live page: who is let in, what is shown, and that a decision on it is one on what was shown. The page itself is
//! tried in a browser by `tests/page.sh`.

mod deciding;
mod following;
mod rights;
mod sources;

use std::fs;
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response};
use crate::support::process::{Process, command, run};

/// Bytes of a body that the page reads.
const MAX_BODY: usize = 1 << 20;
/// Streams of events that are open at the same time.
const MAX_STREAMS: usize = 8;
/// Connections that are open at the same time.
const MAX_CONNECTIONS: usize = 64;

/// The page of a server, as its operator has it.
struct Page {
    address: SocketAddr,
    token: String,
}

/// A client over stdio of a server with the page.
fn start(home: &Home) -> (Client, Page) {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.arg("--page");
    let mut client = Client::initialized(Process::start(command), "2025-11-25");
    let page = Page::of(client.process());
    (client, page)
}

impl Page {
    /// By what the server printed.
    fn of(process: &Process) -> Self {
        let log = process.log_with("/#");
        let line = log.lines().find_map(|line| line.strip_prefix("page at http://")).expect("a line for people");
        let (address, token) = line.split_once("/#").expect("an address and a token");
        Self { address: address.parse().expect("an address"), token: token.to_owned() }
    }

    fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, path, self.address).with("Authorization", &format!("Bearer {}", self.token))
    }

    fn ask(&self, request: &Request) -> Response {
        HttpConnection::connect(self.address).exchange(request)
    }

    fn get(&self, path: &str) -> Value {
        let response = self.ask(&self.request("GET", path));
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        serde_json::from_str(response.text()).expect("JSON")
    }

    /// Status and body.
    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.ask(&self.request("POST", path).json(body.to_string()));
        (response.status, serde_json::from_str(response.text()).expect("JSON"))
    }

    /// The entry of a plugin, once `wanted` holds for it.
    fn plugin_when(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let deadline = std::time::Instant::now() + TIMEOUT;
        loop {
            let overview = self.get("/api/overview");
            let plugins = overview["plugins"].as_array().expect("a list");
            let own = plugins.iter().find(|plugin| plugin["name"] == name).cloned().unwrap_or_default();
            if wanted(&own) {
                return own;
            }
            assert!(std::time::Instant::now() < deadline, "{name}: {own}");
        }
    }
}

fn home() -> Home {
    let home = Home::new();
    home.put_bytes(&Guest::returning("one").build(), "one");
    home
}

#[test]
fn there_is_no_page_unless_it_is_wanted() {
    let home = home();
    let mut client = Client::start(&home);
    client.call("one_version", json!({}));
    assert!(!client.process().log().contains("page at"), "{}", client.process().log());
    client.finish();
    for address in ["127.0.0.1:0", "localhost:0"] {
        home.configure(&format!("[page]\naddress = '{address}'\n"));
        let mut client = Client::start(&home);
        let page = Page::of(client.process());
        assert!(page.address.ip().is_loopback() && page.address.port() > 0, "{address}: {}", page.address);
        page.plugin_when("one", |own| own["state"] == "runs");
        client.finish();
    }
}

#[test]
fn an_address_that_others_reach_needs_a_token_that_is_long_enough() {
    let home = home();
    let serve = |option: &str| run(&home, ["serve".as_ref(), home.plugins().as_os_str(), option.as_ref()]);
    let refused = |option: &str, why: &str| {
        let output = serve(option);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    };
    refused("--page=0.0.0.0:0", "needs a token, since other machines can connect: 0.0.0.0:0");
    refused("--page=here", "expected an IP address or localhost, and a port, found \"here\"");
    home.configure("[page]\naddress = '0.0.0.0:0'\n");
    refused("--page", "page.address: needs a token");
    home.configure("[page]\naddress = '0.0.0.0:0'\ntoken = { file = 'operator' }\n");
    let token = "0123456789abcdef0123456789abcdef";
    fs::write(home.path("config/wharf/operator"), &token[1..]).expect("a file");
    refused("--page", "page.token: the token");
    fs::write(home.path("config/wharf/operator"), token).expect("a file");
    let mut client = Client::start(&home);
    let log = client.process().log_with("page at http://0.0.0.0:");
    // The token is in the configuration, and in no log.
    assert!(!log.contains(token), "{log}");
    client.finish();
}

#[test]
fn what_the_page_shows_needs_the_token() {
    let home = home();
    let (client, page) = start(&home);
    let plain = |method: &str, path: &str| Request::new(method, path, page.address);
    for path in ["/api/overview", "/api/events", "/api/approvals", "/api/hour", "/api/nothing"] {
        assert_eq!(page.ask(&plain("GET", path)).status, 401, "{path}");
    }
    for path in ["/api/mcp", "/api/approve", "/api/revoke", "/api/decide", "/api/review", "/api/plugin"] {
        assert_eq!(page.ask(&plain("POST", path).json("{}")).status, 401, "{path}");
    }
    let with = |value: &str| page.ask(&plain("GET", "/api/overview").with("Authorization", value)).status;
    assert_eq!(with(&format!("Bearer {}", page.token)), 200);
    assert_eq!(with(&format!("Bearer {}0", page.token)), 401);
    assert_eq!(with(&format!("Basic {}", page.token)), 401);
    let in_address = format!("/api/overview?access_token={}", page.token);
    assert_eq!(page.ask(&plain("GET", &in_address)).status, 401);
    let cookie = plain("GET", "/api/overview").with("Cookie", &format!("token={}", page.token));
    assert_eq!(page.ask(&cookie).status, 401);
    // Two starts have two tokens.
    let (other, again) = start(&home);
    assert_ne!(page.token, again.token);
    other.finish();
    client.finish();
}

#[test]
fn pages_of_other_sites_are_refused_even_with_the_token() {
    let home = home();
    let (client, page) = start(&home);
    let own = || page.request("POST", "/api/plugin").json(r#"{"plugin":"one"}"#);
    let status = |request: Request| page.ask(&request).status;
    page.plugin_when("one", |own| own["state"] == "runs");
    assert_eq!(status(own()), 200, "no browser sends it");
    assert_eq!(status(own().with("Origin", &format!("http://{}", page.address))), 200);
    assert_eq!(status(own().with("Sec-Fetch-Site", "same-origin")), 200);
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(status(own().with("Sec-Fetch-Site", site)), 403, "{site}");
    }
    let port = page.address.port();
    let others =
        ["http://evil.example", "null", &format!("http://localhost:{port}"), &format!("http://evil{}", page.address)];
    for origin in others {
        assert_eq!(status(own().with("Origin", origin)), 403, "{origin}");
    }
    // A name that leads here, of a page of another site.
    for path in ["/", "/api/overview"] {
        assert_eq!(status(page.request("GET", path).set("Host", &format!("evil.example:{port}"))), 403, "{path}");
    }
    assert_eq!(status(page.request("GET", "/").set("Host", &format!("localhost:{port}"))), 200);
    assert_eq!(status(page.request("GET", "/").without("Host")), 400);
    // What a form can send.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        assert_eq!(status(own().set("Content-Type", kind)), 415, "{kind}");
    }
    let preflight = Request::new("OPTIONS", "/api/plugin", page.address).with("Origin", "http://evil.example");
    let answer = page.ask(&preflight);
    assert_eq!((answer.status, answer.cors().len()), (403, 0));
    client.finish();
}

#[test]
fn each_answer_has_the_policy_of_the_page() {
    let home = home();
    let (client, page) = start(&home);
    let refused = Request::new("GET", "/api/overview", page.address);
    for request in
        [page.request("GET", "/"), page.request("GET", "/page.js"), page.request("GET", "/api/overview"), refused]
    {
        let answer = page.ask(&request);
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    }
    assert_eq!(page.ask(&page.request("GET", "/nothing.js")).status, 404);
    assert_eq!(page.ask(&page.request("GET", "/../Cargo.toml")).status, 404);
    assert_eq!(page.ask(&page.request("POST", "/").json("{}")).status, 405);
    client.finish();
}

#[test]
fn a_body_has_a_limit() {
    let home = home();
    let (client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    let body = |bytes: usize| {
        let start = r#"{"plugin":"one""#;
        format!("{start}{}}}", " ".repeat(bytes - start.len() - 1))
    };
    let status = |bytes: usize| page.ask(&page.request("POST", "/api/plugin").json(body(bytes))).status;
    assert_eq!(status(MAX_BODY), 200);
    assert_eq!(status(MAX_BODY + 1), 413);
    let broken = page.ask(&page.request("POST", "/api/plugin").json(r#"{"plugin":"one","more":1}"#));
    assert_eq!(broken.status, 400, "{}", broken.text());
    client.finish();
}

#[test]
fn strangers_who_say_nothing_keep_no_operator_out() {
    let home = home();
    let (client, page) = start(&home);
    let mut own = HttpConnection::connect(page.address);
    assert_eq!(own.exchange(&page.request("GET", "/api/overview")).status, 200);
    let silent: Vec<TcpStream> =
        (0..2 * MAX_CONNECTIONS).map(|_| TcpStream::connect(page.address).expect("a connection")).collect();
    assert_eq!(page.ask(&page.request("GET", "/api/overview")).status, 200);
    assert_eq!(own.exchange(&page.request("GET", "/api/overview")).status, 200, "it has shown the token");
    drop(silent);
    client.finish();
}

#[test]
fn a_plugin_is_shown_with_its_powers_versions_and_offers() {
    let home = home();
    home.configure("[plugins.one.grants]\nkeyvalue = true\n");
    home.put_bytes(&Guest::trapping().build(), "trap");
    home.put_bytes(b"no component", "broken");
    let (mut client, page) = start(&home);
    client.call("one_version", json!({}));
    client.call("trap_version", json!({}));
    let own = page.plugin_when("one", |own| own["cost"]["calls"] == 1);
    assert_eq!((own["state"].as_str(), own["tools"].as_u64()), (Some("runs"), Some(1)), "{own}");
    assert_eq!(own["powers"], json!(["keyvalue"]));
    assert!(own["cost"]["cpu_us"].as_u64() > Some(0), "{own}");
    let trap = page.plugin_when("trap", |own| own["cost"]["faults"] == 1);
    assert_eq!(trap["cost"]["errors"], 1, "{trap}");
    let broken = page.plugin_when("broken", |own| own["state"] == "refused");
    assert!(broken["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{broken}");
    let (status, detail) = page.post("/api/plugin", &json!({"plugin": "one"}));
    assert_eq!(status, 200, "{detail}");
    assert_eq!(detail["pin"]["content"], own["content"]);
    assert_eq!(detail["granted"].as_array().map(Vec::len), Some(1), "{detail}");
    assert_eq!(detail["offers"]["tools"]["entries"][0]["name"], "one_version", "{detail}");
    let grant = detail["change"]["grant"].as_str().unwrap_or_default();
    assert!(grant.contains(" grant one ") && grant.ends_with(" GRANT"), "{grant}");
    let (status, tool) = page.post("/api/tool", &json!({"tool": "one_version"}));
    assert_eq!((status, &tool["schema"]["type"]), (200, &json!("object")), "{tool}");
    assert_eq!(page.post("/api/plugin", &json!({"plugin": "none"})).0, 404);
    assert_eq!(page.post("/api/tool", &json!({"tool": "none"})).0, 404);
    let hour = page.get("/api/hour");
    let calls: u64 = hour["calls"].as_array().map_or(0, |calls| calls.iter().filter_map(Value::as_u64).sum());
    assert_eq!(calls, 2, "{hour}");
    home.remove("one");
    page.plugin_when("one", Value::is_null);
    assert_eq!(page.get("/api/overview")["server"]["has_folder"], true);
    fs::remove_dir_all(home.plugins()).expect("it is there");
    page.plugin_when("trap", Value::is_null);
    assert_eq!(page.get("/api/overview")["server"]["has_folder"], false);
    client.finish();
}

#[test]
fn a_tool_is_tried_with_the_rights_of_a_local_client_and_recorded() {
    let home = home();
    let (client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    let message = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    };
    let call = message("tools/call", json!({"name": "one_version", "arguments": {}}));
    let (status, answer) = page.post("/api/mcp", &call);
    assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("one")), "{answer}");
    let (status, answer) = page.post("/api/mcp", &message("tools/call", json!({"name": "none"})));
    assert_eq!((status, answer["error"]["code"].as_i64()), (200, Some(-32602)), "{answer}");
    // What would not end, what is no request, and what needs a session.
    for other in
        [message("subscriptions/listen", json!({})), json!([call]), json!({"jsonrpc": "2.0", "method": "tools/call"})]
    {
        assert_eq!(page.post("/api/mcp", &other).0, 400, "{other}");
    }
    client.finish();
    let shown = run(&home, ["audit", "show", "--json", "--tool", "one_version"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains(r#""principal":"local""#), "{text}");
    home.configure("[rights]\ndefault = 'nothing'\n");
    let (client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    let (_, answer) = page.post("/api/mcp", &call);
    assert!(answer["error"].is_object(), "{answer}");
    client.finish();
}

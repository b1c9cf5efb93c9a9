//! HTTP+SSE, the transport of 2024-11-05: one stream for all messages of the server, and an
//! endpoint to post to.

use serde_json::{Value, json};
use wharf::transport::http::{Settings, Token};

use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, HttpServer, Request, Response, serve};
use crate::support::streamable::{initialize, request, stateless};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

fn server() -> HttpServer {
    HttpServer::serve(&Home::with(&["everything"]), Settings { sse: true, ..Settings::default() })
}

/// One client: its stream, and the endpoint it posts to.
struct Client {
    stream: Events,
    messages: String,
    host: std::net::SocketAddr,
}

impl Client {
    fn connect(host: std::net::SocketAddr) -> Self {
        let get = Request::new("GET", "/sse", host).with("Accept", "text/event-stream");
        let mut stream = Events::open(HttpConnection::connect(host), &get);
        let first = stream.next_event().expect("an endpoint");
        assert_eq!(first.kind.as_deref(), Some("endpoint"));
        Self { stream, messages: first.data, host }
    }

    fn initialize(host: std::net::SocketAddr, revision: &str) -> Self {
        let mut client = Self::connect(host);
        assert_eq!(client.exchange(&initialize(revision))["result"]["protocolVersion"], revision);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn post(&self, body: &str) -> Response {
        HttpConnection::connect(self.host).exchange(&Request::new("POST", &self.messages, self.host).json(body))
    }

    fn send(&self, message: &Value) {
        let taken = self.post(&message.to_string());
        assert_eq!((taken.status, taken.text()), (202, ""), "{message}");
    }

    fn next(&mut self) -> Value {
        let event = self.stream.next_message().expect("a message");
        assert_eq!((event.kind.as_deref(), &event.id), (Some("message"), &None));
        event.json()
    }

    fn exchange(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }
}

#[test]
fn all_messages_are_sent_on_the_stream() {
    let server = server();
    for revision in REVISIONS {
        let mut client = Client::initialize(server.address, revision);
        assert!(client.messages.starts_with("/messages?"), "a path of this server: {}", client.messages);
        let list = client.exchange(&request(1, "tools/list", json!({})));
        assert!(list["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{list}");
        let error = client.exchange(&request(2, "nothing/such", json!({})));
        assert_eq!((&error["id"], &error["error"]["code"]), (&json!(2), &json!(-32601)));
        let call = json!({"name": "everything_test_tool_with_progress", "_meta": {"progressToken": 3}});
        client.send(&request(3, "tools/call", call));
        for _ in 0..3 {
            assert_eq!(client.next()["method"], "notifications/progress");
        }
        assert_eq!(client.next()["id"], 3);
        let question = client.exchange(&request(4, "tools/call", json!({"name": "everything_test_roots"})));
        assert_eq!(question["method"], "roots/list");
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}});
        assert_eq!(client.exchange(&answer)["id"], 4);
        client.exchange(&request(5, "resources/subscribe", json!({"uri": "test://watched-resource"})));
        client.send(&request(6, "tools/call", json!({"name": "everything_test_update_resource"})));
        let received = [client.next(), client.next()];
        assert!(received.iter().any(|message| message["method"] == "notifications/resources/updated"), "{received:?}");
        let batch = client.exchange(&json!([request(7, "ping", json!({}))]));
        assert_eq!(batch.is_array(), revision < "2025-06-18", "{batch}");
    }
}

#[test]
fn invalid_messages_are_refused() {
    let server = server();
    let mut client = Client::initialize(server.address, "2024-11-05");
    for bad in ["", "{", "{}}"] {
        assert_eq!(client.post(bad).status, 400, "{bad}");
    }
    // Nothing was sent on the stream for them.
    assert_eq!(client.exchange(&request(1, "ping", json!({})))["id"], 1);
}

/// Sessions cannot be guessed, and belong to their principal.
#[test]
fn a_session_belongs_to_its_principal() {
    let (mine, other) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let tokens = vec![Token::new("me", mine), Token::new("other", other)];
    let server = HttpServer::start(Settings { tokens: tokens.into(), sse: true, ..Settings::default() });
    let bearer = |request: Request, token: &str| request.with("Authorization", &format!("Bearer {token}"));
    let get = Request::new("GET", "/sse", server.address);
    assert_eq!(server.exchange(&get).status, 401);
    let mut stream = Events::open(server.connect(), &bearer(get, mine));
    let messages = stream.next_event().expect("an endpoint").data;
    let secret = messages.split('=').nth(1).expect("a session");
    assert!(secret.len() >= 32, "{secret}");
    let ping = request(1, "ping", json!({})).to_string();
    let post = |path: &str| Request::new("POST", path, server.address).json(ping.as_str());
    assert_eq!(server.exchange(&bearer(post(&messages), other)).status, 404);
    for wrong in ["/messages", "/messages?session=", "/messages?session=0123456789abcdef0123456789abcdef"] {
        assert_eq!(server.exchange(&bearer(post(wrong), mine)).status, 404, "{wrong}");
    }
    assert_eq!(server.exchange(&bearer(post(&messages), mine)).status, 202);
    assert_eq!(stream.next_message().expect("an answer").json()["id"], 1);
}

/// A session lives as long as its stream.
#[test]
fn closing_the_stream_ends_the_session() {
    let home = Home::with(&["everything"]);
    let (process, address) = serve(&home, &["--sse"]);
    let mut client = Client::initialize(address, "2024-11-05");
    let call = json!({"name": "everything_slow_compute", "arguments": {"seconds": 50}, "_meta": {"progressToken": 1}});
    client.send(&request(1, "tools/call", call));
    assert_eq!(client.next()["method"], "notifications/progress");
    let Client { stream, messages, host } = client;
    drop(stream);
    process.log_with("cancelled");
    let ping = Request::new("POST", &messages, host).json(request(1, "ping", json!({})).to_string());
    assert_eq!(HttpConnection::connect(host).exchange(&ping).status, 404);
}

/// The newest revision is not supported here: a request is refused, a notification ignored.
#[test]
fn the_newest_revision_is_refused() {
    let server = server();
    let mut client = Client::connect(server.address);
    let refused = client.exchange(&stateless(1, "tools/list", json!({})));
    assert_eq!(refused["id"], 1);
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("/mcp")), "{refused}");
    let mut notice = stateless(1, "notifications/none", json!({}));
    notice.as_object_mut().expect("an object").remove("id");
    client.send(&notice);
    assert_eq!(client.exchange(&request(2, "ping", json!({})))["id"], 2);
}

#[test]
fn sse_is_off_by_default() {
    let server = HttpServer::start(Settings::default());
    assert_eq!(server.exchange(&Request::new("GET", "/sse", server.address)).status, 404);
    assert_eq!(server.exchange(&Request::new("POST", "/messages?session=x", server.address).json("{}")).status, 404);
}

/// At shutdown calls are drained, and the stream ends.
#[test]
fn shutdown_drains_calls() {
    let home = Home::with(&["everything"]);
    let (mut process, address) = serve(&home, &["--sse"]);
    let mut client = Client::initialize(address, "2025-11-25");
    let call = json!({"name": "everything_slow_compute", "arguments": {"seconds": 1.2}, "_meta": {"progressToken": 1}});
    client.send(&request(1, "tools/call", call));
    assert_eq!(client.next()["method"], "notifications/progress");
    process.signal(rustix::process::Signal::TERM);
    let mut last = client.next();
    while last["method"] == "notifications/progress" {
        last = client.next();
    }
    assert_eq!(last["id"], 1, "{last}");
    assert_eq!(client.stream.next_message(), None);
    assert!(process.wait().success());
}

//! Several processes behind a load balancer: each can serve any request, but sealed states and
//! cursors are shared only with the same key.

use std::collections::BTreeSet;
use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Instant;

use serde_json::{Value, json};
use wharf::server::Settings;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::guest::asking::page;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, Request, Response, listening_address};
use crate::support::memory::Memory;
use crate::support::process::{Process, command, run};
use crate::support::{MODERN, TIMEOUT};

const KEY: &str = "a_key_that_is_as_long_as_it_must_be";
const MULTI_ROUND: &str = "test_input_required_result_multi_round";

/// A round-robin load balancer of connections.
struct Balancer(TcpListener);

impl Balancer {
    fn bind() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").expect("a free port"))
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("an address")
    }

    /// Its threads run until the test process exits.
    fn run(self, backends: [SocketAddr; 2]) {
        std::thread::spawn(move || {
            for (client, backend) in self.0.incoming().zip(backends.into_iter().cycle()) {
                let client = client.expect("a connection");
                let server = TcpStream::connect(backend).expect("a process listens");
                pass_on(&client, &server);
                pass_on(&server, &client);
            }
        });
    }
}

fn pass_on(from: &TcpStream, to: &TcpStream) {
    let (mut from, mut to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
    std::thread::spawn(move || {
        // An error on one side closes the other.
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// Two processes that serve the same folder with these keys, behind one address.
struct Pair {
    address: SocketAddr,
    each: [SocketAddr; 2],
    _processes: [Process; 2],
    _home: Home,
}

impl Pair {
    fn start(keys: [&str; 2]) -> Self {
        let balancer = Balancer::bind();
        let address = balancer.address();
        let home = Home::with(&["everything"]);
        home.configure(&format!(
            "[server]\npage-size = 7\nstate-key = {{ env = 'WHARF_TEST_KEY' }}\n\
             [server.http]\naddress = '127.0.0.1:0'\nallowed-hosts = ['{address}']\n\
             [plugins.everything]\nprefix = false\n"
        ));
        let start = |key: &str| {
            let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
            command.env("WHARF_TEST_KEY", key);
            let process = Process::start(command);
            let address = listening_address(&process);
            (process, address)
        };
        let (first, first_address) = start(keys[0]);
        // The list of the first process has changed before, that of the second has not.
        home.put_bytes(&Guest::returning("1").build(), "passing");
        until(first_address, "passing_version", true);
        home.remove("passing");
        until(first_address, "passing_version", false);
        let (second, second_address) = start(keys[1]);
        let each = [first_address, second_address];
        balancer.run(each);
        Self { address, each, _processes: [first, second], _home: home }
    }
}

/// A request of 2026-07-28 on a connection of its own.
fn exchange(address: SocketAddr, method: &str, mut params: Value) -> Response {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "roots": {}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = Request::discover(address).set("Mcp-Method", method).json(message.to_string());
    if let Some(name) = params["name"].as_str() {
        request = request.with("Mcp-Name", name);
    }
    HttpConnection::connect(address).exchange(&request)
}

fn answer(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}"))
}

fn result(address: SocketAddr, method: &str, params: Value) -> Value {
    let mut answer = answer(&exchange(address, method, params));
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}

/// The names of all tools, over all pages.
fn tools(address: SocketAddr) -> Vec<String> {
    let mut names = Vec::new();
    let mut params = json!({});
    loop {
        let page = result(address, "tools/list", params);
        let tools = page["tools"].as_array().expect("a list of tools");
        names.extend(tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        let Some(cursor) = page.get("nextCursor") else { return names };
        params = json!({ "cursor": cursor });
    }
}

/// Waits until a process has, or no longer has, a tool.
fn until(address: SocketAddr, tool: &str, is_there: bool) {
    let deadline = Instant::now() + TIMEOUT;
    while answer(&exchange(address, "tools/call", json!({"name": tool}))).get("result").is_some() != is_there {
        assert!(Instant::now() < deadline, "{tool} is listed: {}", !is_there);
    }
}

/// The next round of the call that asked.
fn retry(address: SocketAddr, asked: &Value, answers: Value) -> Response {
    let state = &asked["requestState"];
    exchange(address, "tools/call", json!({"name": MULTI_ROUND, "requestState": state, "inputResponses": answers}))
}

fn name_is_ada() -> Value {
    json!({"step1": {"action": "accept", "content": {"name": "Ada"}}})
}

#[test]
fn rounds_of_a_call_may_go_to_different_processes() {
    let pair = Pair::start([KEY, KEY]);
    let asked = result(pair.address, "tools/call", json!({"name": MULTI_ROUND}));
    assert!(asked["inputRequests"]["step1"].is_object(), "{asked}");
    let asked = answer(&retry(pair.address, &asked, name_is_ada()))["result"].take();
    assert!(asked["inputRequests"]["step2"].is_object(), "{asked}");
    let sure = json!({"step2": {"action": "accept", "content": {"confirm": true}}});
    let done = answer(&retry(pair.address, &asked, sure));
    assert_eq!(done["result"]["content"][0]["text"], "Ada: true", "{done}");
}

#[test]
fn pages_may_come_from_different_processes() {
    let pair = Pair::start([KEY, KEY]);
    let alone = tools(pair.each[0]);
    assert!(alone.len() > 14, "three pages and more: {alone:?}");
    assert_eq!(tools(pair.address), alone);
    assert_eq!(tools(pair.each[1]), alone);
}

#[test]
fn states_and_cursors_of_another_key_are_refused() {
    let pair = Pair::start([KEY, "another_key_that_is_as_long_as_it_must_be"]);
    let [first, second] = pair.each;
    let asked = result(first, "tools/call", json!({"name": MULTI_ROUND}));
    let refused = answer(&retry(second, &asked, name_is_ada()));
    assert_eq!(refused["error"]["data"]["reason"], "invalid_request_state", "{refused}");
    assert!(answer(&retry(first, &asked, name_is_ada())).get("result").is_some(), "its own state is accepted");
    let cursor = result(first, "tools/list", json!({}))["nextCursor"].take();
    let refused = answer(&exchange(second, "tools/list", json!({ "cursor": cursor })));
    assert_eq!(refused["error"]["data"]["reason"], "invalid_cursor", "{refused}");
    result(first, "tools/list", json!({ "cursor": cursor }));
}

/// Elicitation ids of different processes do not collide.
#[test]
fn elicitation_ids_differ_between_processes() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").asks("ask", &[("k", page("https://example.com/"))]).build(), "asker");
    let settings = Settings { state_key: Some([7; 32]), ..Settings::default() };
    let mut names = BTreeSet::new();
    for _ in 0..2 {
        let host = Memory::serve_with(&home, settings.clone());
        let mut client = Client::with_capabilities(host, "2025-11-25", json!({"elicitation": {"url": {}}}));
        client.post("tools/call", json!({"name": "asker_ask", "arguments": {}}));
        let question = client.notification("elicitation/create");
        names.insert(question["params"]["elicitationId"].as_str().expect("a name").to_owned());
    }
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_missing_state_key_is_an_error() {
    let home = Home::new();
    for (key, expected) in [("{ env = 'WHARF_TEST_KEY' }", "WHARF_TEST_KEY"), ("{ file = 'state-key' }", "state-key")] {
        home.configure(&format!("[server]\nstate-key = {key}\n"));
        let folder = home.plugins();
        let output = run(&home, ["serve".as_ref(), folder.as_os_str()]);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{reported}");
        assert!(
            reported.contains("server.state-key") && reported.contains(expected) && reported.contains("hint:"),
            "{reported}"
        );
    }
}

//! Several nodes over HTTP are one server: sessions, states and decisions hold on all of them.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::nodes::{Nodes, with_each_engine};
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::servers::{Server, free_port};
use crate::support::client::{Client, first_text};
use crate::support::http::{HttpConnection, listening_address};
use crate::support::process::{Process, command};
use crate::support::streamable::{Endpoint, Streamable, request};
use crate::support::tasks::PATIENCE;
use crate::support::{MODERN, TIMEOUT};

pub(crate) const SETTINGS: &str = "[server.http.nodes]\naddress = '127.0.0.1:0'\n";

with_each_engine! {
    a_session_is_answered_by_any_node
    a_session_whose_node_has_ended_is_not_found
    a_session_of_the_process_before_is_not_found_at_once
    a_session_goes_on_while_the_store_hangs
    what_one_node_seals_another_one_opens_once
    what_is_decided_on_one_node_holds_on_all
}

/// Both nodes over HTTP.
pub(crate) fn serve<S: Server>(nodes: &Nodes<S>) -> [(Process, SocketAddr); 2] {
    [0, 1].map(|node| serve_one(nodes, node))
}

fn serve_one<S: Server>(nodes: &Nodes<S>, node: usize) -> (Process, SocketAddr) {
    start(serve_command(nodes, node))
}

pub(crate) fn serve_command<S: Server>(nodes: &Nodes<S>, node: usize) -> Command {
    let plugins = nodes.homes[0].plugins();
    let mut command = command(&nodes.homes[node], ["serve".as_ref(), plugins.as_os_str()]);
    command.args(["--http", "127.0.0.1:0"]);
    command
}

pub(crate) fn start(command: Command) -> (Process, SocketAddr) {
    let process = Process::start(command);
    let address = listening_address(&process);
    (process, address)
}

pub(crate) fn addresses(running: &[(Process, SocketAddr); 2]) -> [SocketAddr; 2] {
    [running[0].1, running[1].1]
}

/// The same client at another node.
pub(crate) fn at(client: &Endpoint, address: SocketAddr) -> Endpoint {
    Endpoint { address, ..client.clone() }
}

/// Streams, questions and their answers, each of which another node gets.
fn a_session_is_answered_by_any_node<S: Server>() {
    let nodes = Nodes::<S>::configured(SETTINGS);
    let running = serve(&nodes);
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let wire = Streamable::spread(&addresses(&running));
        let capabilities = json!({"elicitation": {}, "roots": {}});
        let mut client = Client::with_capabilities(wire, revision, capabilities);
        assert!(
            client.tools_until(|tools| tools.len() > 3).contains(&"everything_test_streaming_elicitation".to_owned())
        );
        for round in 0..4 {
            let id = client.post(
                "tools/call",
                json!({"name": "everything_test_streaming_elicitation", "arguments": {}, "_meta": {"progressToken": round}}),
            );
            if revision >= "2025-06-18" {
                let question = client.notification("elicitation/create");
                client.reply(&question, json!({"action": "accept", "content": {"confirm": true}}));
                assert_eq!(first_text(&client.answer(id)["result"]), "User response: true");
            } else {
                client.answer(id);
            }
        }
    }
    let [one, other] = addresses(&running);
    let client = Endpoint::initialize(one, "2025-11-25");
    let elsewhere = at(&client, other);
    let mut stream = elsewhere.listen();
    let pong = elsewhere.exchange(&request(1, "ping", json!({})));
    assert_eq!((pong.status, pong.text()), (200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    // Ids of others are of no use, whatever they say: no node has it.
    let mut forged = elsewhere.clone();
    let id = client.session.clone().expect("a session");
    let changed = if &id[20..21] == "A" { "B" } else { "A" };
    forged.session = Some(format!("{}{changed}{}", &id[..20], &id[21..]));
    assert_eq!(forged.exchange(&request(1, "ping", json!({}))).status, 404);
    assert_eq!(HttpConnection::connect(other).exchange(&elsewhere.delete()).status, 200);
    assert!(std::iter::from_fn(|| stream.next_message()).all(|event| !event.data.contains("result")));
    for address in [one, other] {
        assert_eq!(at(&client, address).exchange(&request(2, "ping", json!({}))).status, 404);
    }
}

fn a_session_whose_node_has_ended_is_not_found<S: Server>() {
    let nodes = Nodes::<S>::configured(SETTINGS);
    let mut running = serve(&nodes);
    let [killed, stays] = addresses(&running);
    let client = Endpoint::initialize(killed, "2025-06-18");
    let elsewhere = at(&client, stays);
    assert_eq!(elsewhere.exchange(&request(1, "ping", json!({}))).status, 200);
    let mut stream = elsewhere.listen();
    running[0].0.signal(Signal::KILL);
    running[0].0.wait();
    let gone = elsewhere.exchange(&request(2, "ping", json!({})));
    assert_eq!(gone.status, 404, "{}", gone.text());
    assert_eq!(
        serde_json::from_str::<Value>(gone.text()).expect("JSON")["error"]["data"]["reason"],
        "session_not_found"
    );
    assert!(stream.next_message().is_none(), "it ends");
    // One that hangs is taken for gone when its lease has ended, and its callers are answered meanwhile.
    let again = Endpoint::initialize(stays, "2025-06-18");
    let (_process, address) = serve_one(&nodes, 0);
    let mut elsewhere = at(&again, address);
    elsewhere.session = again.session.clone();
    assert_eq!(elsewhere.exchange(&request(3, "ping", json!({}))).status, 200);
    running[1].0.freeze();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = elsewhere.exchange(&request(4, "ping", json!({})));
        match answer.status {
            404 => break,
            503 => assert!(answer.text().contains("node_unreachable"), "{}", answer.text()),
            other => panic!("{other}: {}", answer.text()),
        }
        assert!(Instant::now() < deadline, "{}", answer.text());
    }
    running[1].0.signal(Signal::CONT);
}

/// The store says of a process that was killed for six seconds more that it lives, and the next one has its address.
fn a_session_of_the_process_before_is_not_found_at_once<S: Server>() {
    let nodes = Nodes::<S>::configured(SETTINGS);
    let file = nodes.homes[0].path("config/wharf/wharf.toml");
    let settings = std::fs::read_to_string(&file).expect("a configuration");
    let fixed = settings.replace("127.0.0.1:0", &format!("127.0.0.1:{}", free_port()));
    std::fs::write(file, fixed).expect("a configuration");
    let mut running = serve(&nodes);
    let [killed, stays] = addresses(&running);
    let client = Endpoint::initialize(killed, "2025-11-25");
    assert_eq!(at(&client, stays).exchange(&request(1, "ping", json!({}))).status, 200);
    running[0].0.signal(Signal::KILL);
    running[0].0.wait();
    let (_again, restarted) = serve_one(&nodes, 0);
    for address in [stays, restarted] {
        let gone = at(&client, address).exchange(&request(2, "ping", json!({})));
        assert!(gone.status == 404 && gone.text().contains("session_not_found"), "{}: {}", gone.status, gone.text());
    }
}

/// For longer than the store is not asked again, and each request for less than a store may take.
fn a_session_goes_on_while_the_store_hangs<S: Server>() {
    let nodes = Nodes::<S>::configured(SETTINGS);
    let running = serve(&nodes);
    let [one, other] = addresses(&running);
    let client = Endpoint::initialize(one, "2025-11-25");
    let elsewhere = at(&client, other);
    assert_eq!(elsewhere.exchange(&request(0, "ping", json!({}))).status, 200);
    nodes.freeze();
    let frozen = Instant::now();
    for id in 1.. {
        let asked = Instant::now();
        // It has the connection that waited between the nodes, so that the request needs another one.
        let stream = elsewhere.listen();
        let pong = elsewhere.exchange(&request(id, "ping", json!({})));
        assert_eq!(pong.status, 200, "{}", pong.text());
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
        drop(stream);
        if frozen.elapsed() > Duration::from_secs(3) {
            break;
        }
    }
    nodes.thaw();
}

fn what_one_node_seals_another_one_opens_once<S: Server>() {
    let nodes =
        Nodes::<S>::configured(&format!("[server]\ntrust = 'dev'\n[rights]\nask-destructive = 'always'\n{SETTINGS}"));
    let running = serve(&nodes);
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let mut clients = addresses(&running)
        .map(|node| Client::with_capabilities(Streamable::connect(node), MODERN, capabilities.clone()));
    clients.iter_mut().for_each(|client| drop(client.tools_until(|tools| tools.len() > 3)));
    // The host asks, then the plugin.
    let arguments = json!({});
    let mut result = clients[0].call("everything_test_streaming_elicitation", arguments.clone());
    let mut used = Vec::new();
    for turn in 1.. {
        let Some(asked) = result["inputRequests"].as_object() else { break };
        let (key, question) = asked.iter().next().expect("a question");
        let content = if key == "wharf/approval" { json!({}) } else { json!({"confirm": true}) };
        assert_eq!(question["method"], "elicitation/create", "{result}");
        let retry = json!({
            "name": "everything_test_streaming_elicitation", "arguments": arguments, "requestState": result["requestState"],
            "inputResponses": {key: {"action": "accept", "content": content}},
        });
        used.push(retry.clone());
        result = clients[turn % 2].result("tools/call", retry);
        assert!(turn < 5, "{result}");
    }
    assert_eq!((first_text(&result), used.len()), ("User response: true", 2), "{result}");
    // An answer is used once, whichever node gets it the second time.
    for retry in used {
        for client in &mut clients {
            let refused = client.error("tools/call", retry.clone());
            assert_eq!(refused["data"]["reason"], "request_state_used", "{refused}");
        }
    }
    // So are cursors: a page size of one would be another list.
    let wrong = clients[1].error("tools/list", json!({"cursor": "x"}));
    assert_eq!(wrong["code"], -32602, "{wrong}");
}

fn what_is_decided_on_one_node_holds_on_all<S: Server>() {
    let nodes = Nodes::<S>::configured(&format!("[server]\ntrust = 'strict'\n{SETTINGS}"));
    let running = serve(&nodes);
    let mut clients =
        addresses(&running).map(|node| Client::with_capabilities(Streamable::connect(node), MODERN, json!({})));
    let mut until = |is_served: bool| {
        let decided = Instant::now();
        for client in &mut clients {
            while client.tools().iter().any(|tool| tool.starts_with("everything_")) != is_served {
                assert!(decided.elapsed() < TIMEOUT, "on some nodes it does not hold");
            }
        }
        decided.elapsed()
    };
    until(false);
    let folder = nodes.homes[0].plugins();
    let dir = folder.to_str().expect("UTF-8");
    for _ in 0..3 {
        let (output, text) = nodes.run(&["approve", "--yes", "everything", dir]);
        assert!(output.status.success(), "{text}");
        until(true);
        let (output, text) = nodes.run(&["revoke", "everything", dir]);
        assert!(output.status.success(), "{text}");
        // Plugins are listed for a moment longer than they are called.
        let took = until(false);
        assert!(took < Duration::from_secs(3), "it takes long: {took:?}");
    }
    // A node that starts now has it from the others.
    let (mut late, address) = serve_one(&nodes, 1);
    let mut client = Client::with_capabilities(Streamable::connect(address), MODERN, json!({}));
    assert_eq!(client.tools(), Vec::<String>::new());
    drop(client);
    late.signal(Signal::TERM);
    assert!(late.wait().success());
}

//! What plugins store and what users spend on one node is so on all of them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use serde_json::{Value, json};

use crate::cluster::{addresses, serve};
use crate::nodes::{Nodes, with_each_engine};
use crate::servers::Server;
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::support::client::{Client, first_text};
use crate::support::http::{HttpConnection, Request, metrics_address, sample_sum};
use crate::support::streamable::{Endpoint, stateless};
use crate::support::tasks::PATIENCE;

with_each_engine! {
    plugins_read_on_one_node_what_they_wrote_on_another
    what_users_spend_on_one_node_is_spent_on_all
    what_a_call_changes_on_one_node_is_told_to_clients_of_another
}

/// The id of an added note.
fn id(result: &Value) -> u64 {
    result["structuredContent"]["id"].as_u64().unwrap_or_else(|| panic!("no id in {result}"))
}

fn plugins_read_on_one_node_what_they_wrote_on_another<S: Server>() {
    let grants = "[plugins.notes.grants]\nkeyvalue = true\n[plugins.small.grants]\nkeyvalue = { quota = '10KiB' }\n";
    let nodes = Nodes::<S>::configured(grants);
    nodes.homes[0].put("notes", "notes");
    nodes.homes[0].put("notes", "small");
    let mut clients = [nodes.client(0), nodes.client(1)];
    for client in &mut clients {
        client.tools_until(|tools| {
            tools.iter().any(|tool| tool == "small_add") && tools.iter().any(|tool| tool == "notes_add")
        });
    }
    // Both count up the same number at the same time.
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let asked = clients
            .each_mut()
            .map(|client| client.post("tools/call", json!({"name": "notes_add", "arguments": {"text": "milk"}})));
        for (client, asked) in clients.iter_mut().zip(asked) {
            ids.insert(id(&client.answer(asked)["result"]));
        }
    }
    assert_eq!(ids, (1..=40).collect());
    let kept = |client: &mut Client, tool: &str| {
        let listed = client.call(tool, json!({}));
        let notes = listed["structuredContent"]["notes"].as_array().unwrap_or_else(|| panic!("no notes in {listed}"));
        notes.iter().map(|note| note["id"].as_u64().expect("an id")).collect::<BTreeSet<u64>>()
    };
    for client in &mut clients {
        assert_eq!(kept(client, "notes_list"), ids);
        assert_eq!(kept(client, "small_list"), BTreeSet::new());
    }
    // A quota is for all nodes together.
    let text = json!({"text": "x".repeat(9 << 10)});
    assert_eq!(id(&clients[0].call("small_add", text.clone())), 1);
    let over = clients[1].call("small_add", text);
    assert!(first_text(&over).contains("this plugin may store at most 10240 bytes in all"), "{over}");
}

/// Waits until the metrics of a node say that nothing is left.
fn until_spent(metrics: SocketAddr) {
    let until = Instant::now() + PATIENCE;
    loop {
        let request = Request::new("GET", "/metrics", metrics);
        let response = HttpConnection::connect(metrics).exchange(&request);
        let left = "wharf_budget_left_ratio{budget=\"few\",resource=\"calls\"}";
        if response.text().contains(left) && sample_sum(response.text(), left) < 0.1 {
            return;
        }
        assert!(Instant::now() < until, "it has not heard of it: {}", response.text());
    }
}

fn what_users_spend_on_one_node_is_spent_on_all<S: Server>() {
    let settings = "[metrics]\naddress = '127.0.0.1:0'\n[[budgets]]\nname = 'few'\ncalls = 4\nwindow = '31d'\n";
    let nodes = Nodes::<S>::configured(settings);
    let running = serve(&nodes);
    let call = |address: SocketAddr| {
        let endpoint = Endpoint::new(address);
        let message = stateless(1, "tools/call", json!({"name": "everything_test_simple_text", "arguments": {}}));
        let answer = endpoint.exchange(&message);
        let answer: Value = serde_json::from_str(answer.text()).expect("JSON");
        answer["error"]["data"]["reason"].as_str().unwrap_or("none").to_owned()
    };
    let [one, other] = addresses(&running);
    let outcomes: Vec<String> = (0..5).map(|_| call(one)).collect();
    assert_eq!(outcomes, ["none", "none", "none", "none", "busy"]);
    until_spent(metrics_address(&running[1].0));
    assert_eq!(call(other), "busy");
    // One that starts later, when the first one is gone.
    drop(running);
    let running = serve(&nodes);
    let [one, other] = addresses(&running);
    for (node, _) in &running {
        until_spent(metrics_address(node));
    }
    assert_eq!((call(one), call(other)), ("busy".to_owned(), "busy".to_owned()));
}

/// Resources that are updated, and lists that have something else.
fn what_a_call_changes_on_one_node_is_told_to_clients_of_another<S: Server>() {
    let nodes = Nodes::<S>::configured("[plugins.notes.grants]\nkeyvalue = true\nchange-lists = true\n");
    nodes.homes[0].put("notes", "notes");
    let [mut calls, mut hears] = [nodes.client(0), nodes.client_of(1, "2025-11-25")];
    for client in [&mut calls, &mut hears] {
        client.tools_until(|tools| {
            ["notes_add", "everything_test_update_resource"].iter().all(|name| tools.iter().any(|tool| tool == name))
        });
    }
    let resources = |client: &mut Client| {
        let listed = client.result("resources/list", json!({}));
        listed["resources"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|one| one["uri"].as_str().expect("a URI").starts_with("notes://"))
            .count()
    };
    let before = resources(&mut hears);
    hears.result("resources/subscribe", json!({"uri": "test://watched-resource"}));
    calls.call("everything_test_update_resource", json!({}));
    let told = hears.notification("notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "test://watched-resource");
    calls.call("notes_add", json!({"text": "milk"}));
    hears.notification("notifications/resources/list_changed");
    let deadline = Instant::now() + PATIENCE;
    while resources(&mut hears) <= before {
        assert!(Instant::now() < deadline, "the note is not listed on the other node");
    }
}

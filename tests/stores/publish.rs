//! Plugins that nodes get from the store: `wharf store publish` and `wharf store pull`.

use std::time::Instant;

use serde_json::json;

use crate::nodes::{Nodes, with_each_engine};
use crate::servers::Server;
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

with_each_engine! {
    what_is_published_once_is_served_by_a_node_that_follows
}

/// Only what was approved runs, and it is approved where it is published.
const STRICT: &str = "[server]\ntrust = 'strict'\n";

fn what_is_published_once_is_served_by_a_node_that_follows<S: Server>() {
    let nodes = Nodes::<S>::configured(STRICT);
    let [author, node] = &nodes.homes;
    std::fs::remove_file(author.plugin("everything")).expect("a plugin");
    let dir = author.plugins();
    let dir = dir.to_str().expect("UTF-8");
    let (output, text) = nodes.run(&["store", "pull", node.plugins().to_str().expect("UTF-8")]);
    assert!(!output.status.success() && text.contains("nothing is published there"), "{text}");

    author.put("echo-v1", "versioned");
    author.put("echo", "echo");
    let (output, text) = nodes.run(&["store", "publish", dir, "--yes"]);
    assert!(output.status.success() && text.contains("+ echo.wasm") && text.contains("2 added"), "{text}");
    let (_, text) = nodes.run(&["store", "publish", dir, "--yes"]);
    assert!(text.contains("is the same"), "{text}");

    let served = node.plugins();
    let words = ["store".as_ref(), "pull".as_ref(), "--follow".as_ref(), served.as_os_str()];
    let follows = Process::start(command(node, words));
    let process = Process::start(command(node, ["serve".as_ref(), served.as_os_str()]));
    let mut client = Client::initialized(process, "2025-11-25");
    client.tools_until(|tools| ["echo_add", "versioned_version"].iter().all(|name| tools.iter().any(|t| t == name)));
    assert_eq!(client.text("versioned_version", json!({})), "1");

    // What was pinned for another folder runs here too.
    let status = run(node, ["status".as_ref(), served.as_os_str()]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("approved") && status.contains("2 run") && !status.contains("  folder "), "{status}");

    // Replaced, removed and added at once.
    author.put("echo-v2", "versioned");
    std::fs::remove_file(author.plugin("echo")).expect("a plugin");
    author.put("echo", "other");
    let (output, text) = nodes.run(&["store", "publish", dir, "--yes"]);
    assert!(output.status.success() && text.contains("1 added, 1 changed, 1 removed"), "{text}");
    client.tools_until(|tools| {
        tools.iter().any(|tool| tool == "other_echo") && !tools.iter().any(|tool| tool == "echo_add")
    });
    let deadline = Instant::now() + TIMEOUT;
    while client.text("versioned_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the old version still answers");
    }
    assert!(follows.log().contains("versioned.wasm"));

    // A folder of somebody else is left as it is, and so is a machine without such a store.
    let text = |home: &Home, words: &[&str]| {
        let output = run(home, words);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refused = text(node, &["store", "pull", dir]);
    assert!(refused.contains("it has files of its own"), "{refused}");
    let refused = text(&Home::new(), &["store", "publish", dir]);
    assert!(refused.contains("the configuration names none") && refused.contains("[store]: url = "), "{refused}");
}

//! Nodes whose clocks are wrong by hours, in either direction: what the others have goes on, and what a dead one had does
//! not.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cluster::{SETTINGS, at, serve_command, start};
use crate::nodes::{Nodes, with_each_engine};
use crate::servers::Server;
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::process::{Process, command};
use crate::support::streamable::{Endpoint, request};
use crate::support::tasks::*;

with_each_engine! {
    tasks_of_nodes_with_wrong_clocks_go_on_until_these_die
    sessions_of_nodes_with_wrong_clocks_go_on_until_these_die
}

const AHEAD: &str = "+2h";
const BEHIND: &str = "-2h";

/// Not run by `faketime` itself, which would get the signals, and fails if an earlier process of its number was killed.
fn with_clock(mut command: Command, offset: &str) -> Command {
    // The folder of the package is in one that is named after the processor.
    let folders = std::fs::read_dir("/usr/lib").expect("a folder").flatten();
    let library = folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|path| path.is_file());
    command.env("LD_PRELOAD", library.expect("install it: apt-get install faketime")).env("FAKETIME", offset);
    // Deadlines are of the other clock.
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    command
}

/// On the second machine.
fn client<S: Server>(nodes: &Nodes<S>, offset: &str) -> Client {
    let plugins = nodes.homes[0].plugins();
    let serve = command(&nodes.homes[1], ["serve".as_ref(), plugins.as_os_str()]);
    Client::with_capabilities(Process::start(with_clock(serve, offset)), MODERN, capabilities())
}

fn tasks_of_nodes_with_wrong_clocks_go_on_until_these_die<S: Server>() {
    let nodes = Nodes::<S>::new();
    let mut clients = [client(&nodes, AHEAD), nodes.client(0), client(&nodes, BEHIND)];
    // From then on each of them looks for those of nodes that have died.
    let run = |client: &mut Client, seconds: f64| task(client, "slow_compute", json!({"seconds": seconds}));
    let runs = clients.each_mut().map(|client| run(client, 8.0));
    let done: Vec<_> = runs.iter().map(|id| until_status(&mut clients[1], id, "completed")).collect();
    assert!(done.iter().all(|done| first_text(&done["result"]) == "It is done"), "{done:?}");
    let is_before = |one: &Value, other: &Value| one["createdAt"].as_str() < other["createdAt"].as_str();
    assert!(done.is_sorted_by(|first, second| is_before(second, first)), "the clocks are right: {done:?}");
    // Of whom the lease is that nobody renews: the clocks of those who look differ by hours from his.
    for (dies, stays) in [(0, 2), (2, 1)] {
        let lost = run(&mut clients[dies], 600.0);
        clients[dies].process().signal(Signal::KILL);
        let failed = until_status(&mut clients[stays], &lost, "failed");
        assert_eq!(failed["error"]["data"]["reason"], "task_interrupted");
    }
}

fn sessions_of_nodes_with_wrong_clocks_go_on_until_these_die<S: Server>() {
    let nodes = Nodes::<S>::configured(SETTINGS);
    let off = |offset| start(with_clock(serve_command(&nodes, 1), offset));
    let mut running = [start(serve_command(&nodes, 0)), off(AHEAD), off(BEHIND)];
    let [right, ahead, behind] = running.each_ref().map(|(_, address)| *address);
    let sessions = [right, ahead, behind].map(|address| Endpoint::initialize(address, "2025-11-25"));
    let mut ping = {
        let mut id = 0;
        move |client: &Endpoint, address: SocketAddr| {
            id += 1;
            at(client, address).exchange(&request(id, "ping", json!({})))
        }
    };
    for client in &sessions {
        for address in [right, ahead, behind] {
            let pong = ping(client, address);
            assert_eq!(pong.status, 200, "{}", pong.text());
        }
    }
    let [_, of_ahead, of_behind] = &sessions;
    running[2].0.signal(Signal::KILL);
    running[2].0.wait();
    for address in [right, ahead] {
        let gone = ping(of_behind, address);
        assert!(gone.status == 404 && gone.text().contains("session_not_found"), "{}: {}", gone.status, gone.text());
    }
    // Its lease is one of the next hours, and nobody refuses connections.
    running[1].0.freeze();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ping(of_ahead, right);
        match answer.status {
            404 => break,
            503 => assert!(answer.text().contains("node_unreachable"), "{}", answer.text()),
            other => panic!("{other}: {}", answer.text()),
        }
        assert!(Instant::now() < deadline, "{}", answer.text());
    }
}

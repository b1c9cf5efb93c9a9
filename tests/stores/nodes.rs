//! Several nodes share their tasks: each has its own state, and all one store, whatever its engine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::servers::{PASSWORD, Server};
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::{Process, command, run};
use crate::support::tasks::*;

/// Each test with each engine. A file that uses it has the engines in scope.
macro_rules! with_each_engine {
    ($($name:ident)*) => {
        mod postgres {$(
            #[test]
            fn $name() {
                super::$name::<super::PostgresServer>();
            }
        )*}
        mod nats {$(
            #[test]
            fn $name() {
                super::$name::<super::NatsServer>();
            }
        )*}
    };
}

pub(crate) use with_each_engine;

with_each_engine! {
    a_task_of_one_node_is_answered_and_cancelled_on_another
    the_tasks_of_a_node_that_dies_are_ended_or_run_by_another
    a_store_that_is_away_is_said_and_comes_back_by_itself
    a_node_stops_although_its_store_does_not_answer
}

/// Nodes that serve the plugins of the first one.
pub(crate) struct Nodes<S> {
    pub(crate) server: S,
    pub(crate) homes: [Home; 2],
}

impl<S: Server> Nodes<S> {
    pub(crate) fn new() -> Self {
        Self::configured("")
    }

    /// With more settings.
    pub(crate) fn configured(more: &str) -> Self {
        let server = S::start();
        let url = server.store("wharf");
        let homes = [home(""), Home::new()];
        let with_password = url.replace("wharf@", &format!("wharf:{PASSWORD}@"));
        homes[0].configure(&format!("{SOON}[store]\nurl = '{with_password}'\n{more}"));
        let file = homes[1].path("config/wharf/store-password");
        fs::write(&file, format!("{PASSWORD}\n")).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner's");
        homes[1].configure(&format!("{SOON}[store]\nurl = '{url}'\npassword = {{ file = 'store-password' }}\n{more}"));
        Self { server, homes }
    }

    pub(crate) fn client(&self, node: usize) -> Client {
        self.client_of(node, MODERN)
    }

    /// The same of a revision.
    pub(crate) fn client_of(&self, node: usize, revision: &str) -> Client {
        let plugins = self.homes[0].plugins();
        let process = Process::start(command(&self.homes[node], ["serve".as_ref(), plugins.as_os_str()]));
        Client::with_capabilities(process, revision, capabilities())
    }

    /// The store does not answer, until [`Self::thaw`].
    pub(crate) fn freeze(&self) {
        self.server.freeze();
    }

    pub(crate) fn thaw(&self) {
        self.server.thaw();
    }

    /// A command on the second node; its outputs have no password.
    pub(crate) fn run(&self, words: &[&str]) -> (Output, String) {
        let output = run(&self.homes[1], words);
        let text = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
        assert!(!text.contains(PASSWORD), "{text}");
        (output, text)
    }
}

fn a_task_of_one_node_is_answered_and_cancelled_on_another<S: Server>() {
    let nodes = Nodes::<S>::new();
    let (mut one, mut two) = (nodes.client(0), nodes.client(1));
    let id = task(&mut one, "confirm_delete", json!({"filename": "a"}));
    let asks = until_status(&mut one, &id, "input_required");
    assert_eq!(get(&mut two, &id), asks);
    answer(&mut two, &id, json!({key(&asks): accept(json!({"confirm": true}))}));
    let done = until_status(&mut one, &id, "completed");
    assert_eq!(first_text(&done["result"]), "a: deleted");
    assert_eq!(get(&mut two, &id), done);
    let runs = task(&mut one, "slow_compute", json!({"seconds": 600.0}));
    assert_eq!(get(&mut two, &runs)["status"], "working");
    let folder = nodes.homes[0].plugins();
    let dir = folder.to_str().expect("UTF-8");
    let (_, shown) = nodes.run(&["tasks", dir]);
    assert!(shown.contains(&id) && shown.contains(&runs) && shown.contains("working"), "{shown}");
    let (_, shown) = nodes.run(&["tasks", "show", &runs]);
    assert!(shown.contains("slow_compute"), "{shown}");
    let (_, shown) = nodes.run(&["status", dir]);
    assert!(shown.contains("2 tasks are kept"), "{shown}");
    let (_, shown) = nodes.run(&["doctor", dir]);
    assert!(shown.contains("/wharf answers"), "{shown}");
    two.result("tasks/cancel", json!({"taskId": runs}));
    assert_eq!(get(&mut one, &runs)["status"], "cancelled");
    // The guest on the other node is stopped: only then does its call end for the audit log.
    let audit = nodes.homes[0].path("state/wharf/audit.jsonl");
    let deadline = Instant::now() + PATIENCE;
    let ended = || {
        fs::read_to_string(&audit)
            .is_ok_and(|log| log.lines().any(|line| line.contains(&runs) && line.contains("\"event\":\"call\"")))
    };
    while !ended() {
        assert!(Instant::now() < deadline, "{}", fs::read_to_string(&audit).unwrap_or_default());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn the_tasks_of_a_node_that_dies_are_ended_or_run_by_another<S: Server>() {
    let nodes = Nodes::<S>::new();
    let (mut dies, mut stays) = (nodes.client(0), nodes.client(1));
    let once = task(&mut dies, "slow_compute", json!({"seconds": 600.0}));
    let again = task(&mut dies, "slow_again", json!({"seconds": 3.0, "label": "it"}));
    let asks = task(&mut dies, "confirm_delete", json!({"filename": "b"}));
    let asked = until_status(&mut dies, &asks, "input_required");
    assert_eq!(get(&mut stays, &again)["status"], "working");
    dies.process().signal(Signal::KILL);
    answer(&mut stays, &asks, json!({key(&asked): accept(json!({"confirm": true}))}));
    until_status(&mut stays, &asks, "completed");
    let failed = until_status(&mut stays, &once, "failed");
    assert_eq!(failed["error"]["data"]["reason"], "task_interrupted");
    let done = until_status(&mut stays, &again, "completed");
    assert_eq!(first_text(&done["result"]), "it took 3 s");
}

fn a_store_that_is_away_is_said_and_comes_back_by_itself<S: Server>() {
    let mut nodes = Nodes::<S>::new();
    let mut client = nodes.client(0);
    let id = task(&mut client, "confirm_delete", json!({"filename": "a"}));
    let asks = until_status(&mut client, &id, "input_required");
    nodes.server.kill();
    let error = client.error("tasks/get", json!({"taskId": id}));
    assert_eq!((error["code"].as_i64(), &error["data"]["reason"]), (Some(-32603), &json!("host_error")), "{error}");
    assert!(!client.process().log_with("see that it runs there").contains(PASSWORD));
    // Calls that need no task are answered as ever, and those that could become one run to their end.
    let done = client.call("everything_slow_compute", json!({"seconds": 0.5}));
    assert_eq!((&done["resultType"], first_text(&done)), (&json!("complete"), "It is done"));
    let folder = nodes.homes[0].plugins();
    let dir = folder.to_str().expect("UTF-8");
    for words in [["tasks", dir], ["doctor", dir]] {
        let (output, text) = nodes.run(&words);
        assert!(!output.status.success() && text.contains("see that it runs there"), "{words:?}: {text}");
    }
    // They would be of no use without the pins, and say so once: no command tries it again.
    for words in [
        vec!["status", dir],
        vec!["approve", "everything", dir, "--yes"],
        vec!["approve", "--all", dir, "--yes"],
        vec!["revoke", "everything", dir],
        vec!["store", "publish", dir, "--yes"],
    ] {
        let (output, text) = nodes.run(&words);
        assert!(!output.status.success() && text.contains("failed to use the pins"), "{words:?}: {text}");
        assert_eq!(text.matches("see that it runs there").count(), 1, "{words:?}: {text}");
        // Whoever revokes is told to.
        assert!(!text.contains(if words[0] == "revoke" { "tried again" } else { "again" }), "{words:?}: {text}");
    }
    nodes.server.start_again();
    assert_eq!(get(&mut client, &id), asks);
    answer(&mut client, &id, json!({key(&asks): accept(json!({"confirm": true}))}));
    until_status(&mut client, &id, "completed");
}

fn a_node_stops_although_its_store_does_not_answer<S: Server>() {
    let nodes = Nodes::<S>::new();
    let mut stops = nodes.client(0);
    let all: Vec<String> = (0..3).map(|_| task(&mut stops, "slow_compute", json!({"seconds": 600.0}))).collect();
    nodes.server.freeze();
    let asked = Instant::now();
    stops.process().signal(Signal::TERM);
    assert!(stops.process().wait().success());
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
    nodes.server.thaw();
    let mut other = nodes.client(1);
    for id in all {
        until_status(&mut other, &id, "failed");
    }
}

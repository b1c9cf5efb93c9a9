//! `wharf store migrate`: from the files of a machine to a store for several nodes, and to another machine.

use std::fs;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::nodes::{Nodes, with_each_engine};
use crate::servers::Server;
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::{Process, command, run};
use crate::support::tasks::*;

with_each_engine! {
    what_a_machine_keeps_is_served_from_a_store_and_by_another_machine
}

const GRANTS: &str = "[plugins.notes.grants]\nkeyvalue = true\n";

fn notes(client: &mut Client) -> Value {
    client.tools_until(|tools| tools.iter().any(|tool| tool == "notes_add"));
    client.call("notes_list", json!({}))["structuredContent"]["notes"].clone()
}

/// A server of the plugins of another home.
fn client(home: &Home, plugins: &Home) -> Client {
    let folder = plugins.plugins();
    let process = Process::start(command(home, ["serve".as_ref(), folder.as_os_str()]));
    Client::with_capabilities(process, MODERN, capabilities())
}

/// Whether it was moved, and what was printed.
fn migrate(home: &Home, words: &[&str]) -> (bool, String) {
    let Output { status, stdout, stderr } = run(home, [&["store", "migrate"], words].concat());
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// The same, once servers that were killed do not count as running any more.
fn migrate_later(home: &Home, words: &[&str]) -> (bool, String) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (moved, text) = migrate(home, words);
        if !text.contains("stop all servers") {
            return (moved, text);
        }
        assert!(Instant::now() < deadline, "{text}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn what_a_machine_keeps_is_served_from_a_store_and_by_another_machine<S: Server>() {
    let nodes = Nodes::<S>::configured(GRANTS);
    let [plugins, node] = &nodes.homes;
    plugins.put("notes", "notes");
    plugins.put("echo", "gone");
    let dir = plugins.plugins();
    let dir = dir.to_str().expect("UTF-8");
    let file = node.path("config/wharf/wharf.toml");
    let shared = fs::read_to_string(&file).expect("the configuration");
    // One machine, without a store.
    node.configure(&format!("{SOON}{GRANTS}"));
    let mut alone = client(node, plugins);
    alone.tools_until(|tools| tools.iter().any(|tool| tool == "gone_echo"));
    let done = task(&mut alone, "confirm_delete", json!({"filename": "a"}));
    let asks = until_status(&mut alone, &done, "input_required");
    answer(&mut alone, &done, json!({key(&asks): accept(json!({"confirm": true}))}));
    until_status(&mut alone, &done, "completed");
    notes(&mut alone);
    alone.call("notes_add", json!({"text": "milk"}));
    let kept = notes(&mut alone);
    assert!(run(node, ["revoke", "gone", dir]).status.success());
    let runs = task(&mut alone, "slow_compute", json!({"seconds": 600.0}));

    fs::write(&file, &shared).expect("the configuration");
    let (moved, text) = migrate(node, &[]);
    assert!(!moved && text.contains("stop all servers and other copies that use"), "{text}");
    drop(alone);
    let (moved, text) = migrate_later(node, &[]);
    assert!(
        moved && text.contains("tasks               2\n") && text.contains("pins, revocations   copied\n"),
        "{text}"
    );
    // Again: nothing is in the way of itself. It is said how far that is, also by a store that takes long.
    nodes.freeze();
    let mut again = Process::start(command(node, ["store", "migrate"]));
    again.log_with("entries …");
    nodes.thaw();
    assert!(again.wait().success(), "{}", again.log());

    let mut served = nodes.client(1);
    assert_eq!(notes(&mut served), kept);
    assert_eq!(first_text(&until_status(&mut served, &done, "completed")["result"]), "a: deleted");
    assert_eq!(until_status(&mut served, &runs, "failed")["error"]["data"]["reason"], "task_interrupted");
    let tools = served.tools_until(|tools| tools.len() > 3);
    assert!(!tools.contains(&"gone_echo".to_owned()), "it was revoked: {tools:?}");
    served.call("notes_add", json!({"text": "eggs"}));
    let kept = notes(&mut served);
    let other = Home::new();
    let from = other.path("shared.toml");
    fs::copy(node.path("config/wharf/store-password"), other.path("store-password")).expect("the password");
    fs::write(&from, &shared).expect("a configuration");
    other.configure(&format!("{SOON}{GRANTS}"));
    // A server counts although it runs no task.
    let (moved, text) = migrate(&other, &["--from", from.to_str().expect("UTF-8")]);
    assert!(!moved && text.contains("stop all servers and other copies"), "{text}");
    drop(served);

    // What is in the store is not overwritten by what a machine has.
    let (moved, text) = migrate_later(node, &[]);
    assert!(!moved && text.contains("nothing was changed") && text.contains("keyvalue/"), "{text}");
    // A part of a copy is not used.
    let mark = other.path("state/wharf/migration");
    fs::create_dir_all(mark.parent().expect("a folder")).expect("a folder");
    fs::write(&mark, "elsewhere").expect("a mark");
    let refused = run(&other, ["status", dir]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && text.contains("not all there"), "{text}");
    fs::remove_file(mark).expect("removed");
    // From the store to another machine.
    let (moved, text) = migrate_later(&other, &["--from", from.to_str().expect("UTF-8")]);
    assert!(moved && text.contains("stays behind"), "{text}");
    let mut elsewhere = client(&other, plugins);
    assert_eq!(notes(&mut elsewhere), kept);
    assert_eq!(first_text(&until_status(&mut elsewhere, &done, "completed")["result"]), "a: deleted");
    let tools = elsewhere.tools_until(|tools| tools.len() > 3);
    assert!(!tools.contains(&"gone_echo".to_owned()), "it was revoked: {tools:?}");
}

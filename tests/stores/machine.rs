//! What one machine decided before it had a store, and what operators are told when a store cannot be used.

use std::fs;
use std::time::{Duration, Instant};

use wharf::store::{Durability, Expected, Postgres, PostgresSettings, Put, Store as _};

use crate::nodes::{Nodes, with_each_engine};
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::servers::{PASSWORD, Server};
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

with_each_engine! {
    what_a_machine_has_revoked_does_not_run_there_whoever_writes_to_the_store_first
    what_is_published_is_approved_for_all_nodes
    who_cannot_revoke_is_told_that_it_still_runs
}

/// Whether it succeeded, and what was printed.
fn said(home: &Home, words: &[&str]) -> (bool, String) {
    let output = run(home, words);
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

/// The same of a command that succeeds.
fn done(home: &Home, words: &[&str]) -> String {
    let (succeeded, text) = said(home, words);
    assert!(succeeded, "{words:?}: {text}");
    text
}

/// Runs commands on a machine that has no store yet.
fn before(home: &Home, settings: &str, commands: &[&[&str]]) {
    let file = home.path("config/wharf/wharf.toml");
    let shared = fs::read_to_string(&file).expect("the configuration");
    home.configure(settings);
    commands.iter().for_each(|words| drop(done(home, words)));
    fs::write(file, shared).expect("the configuration");
}

fn what_a_machine_has_revoked_does_not_run_there_whoever_writes_to_the_store_first<S: Server>() {
    let nodes = Nodes::<S>::new();
    let [one, two] = &nodes.homes;
    let (dir, other) = (one.plugins(), two.plugins());
    let [dir, other] = [&dir, &other].map(|dir| dir.to_str().expect("UTF-8"));
    one.put("echo", "gone");
    two.put("echo-v1", "first");
    before(one, "", &[&["revoke", "gone", dir], &["approve", "everything", dir, "--yes"]]);

    let text = done(two, &["approve", "first", other, "--yes"]);
    assert!(text.contains("lock.toml of other machines do not count") && text.contains("store migrate"), "{text}");
    let text = done(two, &["approve", "first", other, "--yes"]);
    assert!(!text.contains("other machines"), "it is said once: {text}");
    let (_, text) = said(one, &["status", dir]);
    assert!(text.contains("no pin, and that does not count: everything;") && text.contains("it was revoked"), "{text}");
    // Another node that approves it does not know that it was revoked.
    two.put("echo", "gone");
    done(two, &["approve", "gone", other, "--yes"]);
    let (_, text) = said(one, &["status", dir]);
    assert!(text.contains("it was revoked"), "{text}");
    let process = Process::start(command(one, ["serve", dir]));
    let mut client = Client::initialized(process, "2025-11-25");
    let tools = client.tools_until(|tools| tools.len() > 3);
    assert!(!tools.contains(&"gone_echo".to_owned()), "it was revoked: {tools:?}");
    // Here it is known.
    let text = done(one, &["approve", "gone", dir, "--yes"]);
    assert!(text.contains("to approve it takes that back"), "{text}");
    client.tools_until(|tools| tools.iter().any(|tool| tool == "gone_echo"));
}

fn what_is_published_is_approved_for_all_nodes<S: Server>() {
    const STRICT: &str = "[server]\ntrust = 'strict'\n";
    let nodes = Nodes::<S>::configured(STRICT);
    let [author, node] = &nodes.homes;
    let (dir, served) = (author.plugins(), node.plugins());
    let [dir, served] = [&dir, &served].map(|dir| dir.to_str().expect("UTF-8"));
    author.put("echo", "echo");
    before(author, STRICT, &[&["approve", "everything", dir, "--yes"], &["approve", "echo", dir, "--yes"]]);
    let text = done(author, &["store", "publish", dir, "--yes"]);
    assert!(text.contains("are approved already") && text.contains("2 added"), "{text}");
    done(node, &["store", "pull", served]);
    let (_, text) = said(node, &["status", served]);
    assert!(text.contains("echo") && !text.contains("it has not been approved"), "{text}");
}

fn who_cannot_revoke_is_told_that_it_still_runs<S: Server>() {
    let nodes = Nodes::<S>::configured("connect-timeout = '500ms'\nrequest-timeout = '500ms'\n");
    let [one, _] = &nodes.homes;
    let dir = one.plugins();
    let words = ["revoke", "everything", dir.to_str().expect("UTF-8")];
    nodes.server.freeze();
    let (revoked, text) = said(one, &words);
    nodes.server.thaw();
    assert!(!revoked && text.contains("nothing was revoked") && text.contains("stop the servers"), "{text}");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !said(one, &words).0 {
        assert!(Instant::now() < deadline, "the store is back");
    }
}

/// As a copy leaves it that was killed.
#[test]
fn commands_and_servers_refuse_a_store_that_is_half_copied() {
    let server = PostgresServer::start();
    let url = server.store("half");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut settings = PostgresSettings::of_url(&url).expect("a URL");
        settings.set_password(PASSWORD);
        let (expected, durability) = (Expected::Absent, Durability::Process);
        let mark = Put { key: "migration".into(), value: b"elsewhere".to_vec(), expected, durability, expires: None };
        Postgres::new(settings).put(mark).await.expect("written");
    });
    let home = Home::with(&["echo"]);
    let with_password = url.replace("wharf@", &format!("wharf:{PASSWORD}@"));
    let files = home.path("state/wharf/migration");
    fs::create_dir_all(files.parent().expect("a folder")).expect("a folder");
    let dir = home.plugins();
    let dir = dir.to_str().expect("UTF-8");
    let commands: [&[&str]; 10] = [
        &["status", dir],
        &["doctor", dir],
        &["serve", dir],
        &["list", dir],
        &["approve", "echo", dir, "--yes"],
        &["revoke", "echo", dir],
        &["approvals"],
        &["tasks", dir],
        &["tasks", "cancel", "abc"],
        &["store", "pull", dir],
    ];
    for words in commands {
        home.configure(&format!("[store]\nurl = '{with_password}'\n"));
        let output = run(&home, words);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.code() == Some(1) && text.contains("not all there"), "{words:?}: {text}");
        assert!(!text.contains("panicked") && !text.contains(PASSWORD), "{words:?}: {text}");
    }
    // The same of files.
    home.configure("");
    fs::write(&files, "elsewhere").expect("a mark");
    for words in [["tasks", dir].as_slice(), &["tasks", "cancel", "abc"]] {
        let (used, text) = said(&home, words);
        assert!(!used && text.contains("not all there"), "{words:?}: {text}");
    }
}

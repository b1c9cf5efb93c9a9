//! Plugins in processes of their own (`limits.isolation = "process"`).

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

/// The processes of plugins that a server has.
pub(crate) fn processes(server: u32) -> BTreeSet<i32> {
    let children = fs::read_dir(format!("/proc/{server}/task")).into_iter().flatten().flatten();
    let children = children.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let ids: Vec<i32> = children
        .flat_map(|ids| ids.split_whitespace().map(|id| id.parse().expect("a number")).collect::<Vec<_>>())
        .collect();
    let is_of_plugin = |id: &i32| {
        let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains("sandbox-worker")
    };
    ids.into_iter().filter(is_of_plugin).collect()
}

pub(crate) fn kill(process: i32) {
    kill_process(Pid::from_raw(process).expect("a process"), Signal::KILL).expect("it runs");
}

fn runs(process: i32) -> bool {
    test_kill_process(Pid::from_raw(process).expect("a process")).is_ok()
}

fn until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "it does not come to be");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn echo(client: &mut Client<Process>) -> Value {
    client.call("echo", json!({"message": "hello"}))
}

#[test]
fn the_end_of_its_process_ends_nothing_else() {
    let home = Home::with(&["echo"]).with_processes();
    home.put("echo", "other");
    let mut client = Client::start(&home);
    client.tools();
    assert_eq!(first_text(&echo(&mut client)), "hello");
    let server = client.process().id();
    client.process().log_with("loaded plugin=echo");
    client.process().log_with("loaded plugin=other");
    let before = processes(server);
    assert_eq!(before.len(), 2);
    before.iter().for_each(|process| kill(*process));
    client.process().log_with("its process ended: signal: 9 (SIGKILL)");
    // A call may be the first to see it.
    until(|| first_text(&echo(&mut client)) == "hello");
    let after = processes(server);
    assert!(after.len() == 1 && after.is_disjoint(&before), "{after:?}");
    until(|| client.text("other_echo", json!({"message": "too"})) == "too");
}

#[test]
fn a_call_whose_process_ends_has_crashed() {
    let home = Home::with(&["echo"]).with_processes();
    home.put_bytes(&Guest::spinning().build(), "spinner");
    let mut client = Client::start(&home);
    client.tools();
    let server = client.process().id();
    client.process().log_with("loaded plugin=spinner");
    let spinning = client.post("tools/call", json!({"name": "spinner_version"}));
    assert_eq!(first_text(&echo(&mut client)), "hello");
    processes(server).into_iter().for_each(kill);
    let answer = client.answer(spinning);
    let text = first_text(&answer["result"]);
    assert_eq!(text, "Plugin 'spinner' crashed while it handled this call: its process ended.");
    assert_eq!(answer["result"]["_meta"]["wharf/fault"]["code"], "trap");
}

/// A hang of the engine itself: no limit inside of the process helps.
#[test]
fn a_process_that_hangs_is_ended() {
    let home = Home::with(&["echo"]).with_processes();
    home.configure("[plugins.echo.limits]\ntimeout = \"1s\"\n");
    let mut client = Client::start(&home);
    client.tools();
    assert_eq!(first_text(&echo(&mut client)), "hello");
    let server = client.process().id();
    let before = processes(server);
    for process in &before {
        kill_process(Pid::from_raw(*process).expect("a process"), Signal::STOP).expect("it runs");
    }
    let began = Instant::now();
    let answer = echo(&mut client);
    assert_eq!(answer["_meta"]["wharf/fault"]["code"], "timeout", "{answer}");
    assert!(began.elapsed() < TIMEOUT);
    // The next one waits for a new process, and not for the end of the old one.
    assert_eq!(first_text(&echo(&mut client)), "hello");
    until(|| processes(server).is_disjoint(&before));
}

#[test]
fn processes_end_with_their_server() {
    let home = Home::with(&["echo"]).with_processes();
    home.put_bytes(&Guest::spinning().build(), "spinner");
    let mut client = Client::start(&home);
    client.tools();
    client.post("tools/call", json!({"name": "spinner_version"}));
    assert_eq!(first_text(&echo(&mut client)), "hello");
    client.process().log_with("loaded plugin=spinner");
    let of_plugins = processes(client.process().id());
    assert_eq!(of_plugins.len(), 2);
    client.process().signal(Signal::KILL);
    until(|| !of_plugins.iter().any(|process| runs(*process)));
}

/// As a shell or systemd does, which signal all processes of a group.
#[test]
fn signals_are_for_the_server_alone() {
    let home = Home::with(&["everything"]).with_processes();
    let mut client = Client::start(&home);
    client.tools();
    client.process().log_with("loaded plugin=everything");
    let server = client.process().id();
    let slow = client.post("tools/call", json!({"name": "everything_slow_compute", "arguments": {"seconds": 1}}));
    for process in processes(server) {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            kill_process(Pid::from_raw(process).expect("a process"), signal).expect("it runs");
        }
    }
    client.process().signal(Signal::TERM);
    let rest = client.finish();
    let answer = rest.iter().find(|message| message["id"] == slow).expect("an answer");
    assert!(answer["result"]["isError"] != json!(true), "{answer}");
}

#[test]
fn a_stopped_process_ends_with_its_server_too() {
    let home = Home::with(&["echo"]).with_processes();
    let mut client = Client::start(&home);
    client.tools();
    client.process().log_with("loaded plugin=echo");
    let of_plugins = processes(client.process().id());
    for process in &of_plugins {
        kill_process(Pid::from_raw(*process).expect("a process"), Signal::STOP).expect("it runs");
    }
    client.process().signal(Signal::KILL);
    until(|| !of_plugins.iter().any(|process| runs(*process)));
}

/// What a plugin asks is seen in the process of the command only.
#[test]
fn a_command_records_in_its_own_process() {
    let home = Home::with(&["echo"]).with_processes();
    let file = home.path("call.jsonl");
    let recorded = run(
        &home,
        [
            "record".as_ref(),
            home.plugins().as_os_str(),
            "echo".as_ref(),
            "message=hello".as_ref(),
            "-o".as_ref(),
            file.as_os_str(),
        ],
    );
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    assert!(fs::read_to_string(file).expect("a recording").contains("hello"));
}

#[test]
fn a_removed_plugin_leaves_no_process() {
    let home = Home::with(&["echo"]).with_processes();
    home.put("echo", "other");
    let mut client = Client::start(&home);
    client.tools();
    let server = client.process().id();
    client.process().log_with("loaded plugin=echo");
    client.process().log_with("loaded plugin=other");
    let both = processes(server);
    home.remove("other");
    client.tools_until(|tools| !tools.iter().any(|tool| tool.starts_with("other")));
    until(|| processes(server).len() == 1);
    assert!(processes(server).is_subset(&both));
}

#[test]
fn the_setting_applies_to_plugins_in_service() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools();
    let server = client.process().id();
    assert!(processes(server).is_empty());
    home.configure("[plugins.echo.limits]\nisolation = \"process\"\n");
    until(|| {
        assert_eq!(first_text(&echo(&mut client)), "hello");
        processes(server).len() == 1
    });
    home.configure("");
    until(|| {
        assert_eq!(first_text(&echo(&mut client)), "hello");
        processes(server).is_empty()
    });
}

/// Whatever the server has.
#[test]
fn a_process_has_nothing_of_the_server() {
    let home = Home::with(&["echo"]).with_processes();
    let mut server = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
    server.env("SECRET", "password");
    let mut client = Client::initialized(Process::start(server), "2025-11-25");
    client.tools();
    assert_eq!(first_text(&echo(&mut client)), "hello");
    let server = client.process().id();
    let [process] = processes(server).into_iter().collect::<Vec<_>>()[..] else { panic!("not one process") };
    let files = |process: &str| {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("its files").flatten();
        // One that is closed meanwhile is none of the server's.
        entries.filter_map(|entry| Some((entry.file_name(), fs::read_link(entry.path()).ok()?))).collect::<Vec<_>>()
    };
    let of_server: Vec<PathBuf> = files(&server.to_string()).into_iter().map(|(_, target)| target).collect();
    let environment = fs::read(format!("/proc/{process}/environ")).expect("its environment");
    assert_eq!(String::from_utf8_lossy(&environment), "");
    let home = home.path("").canonicalize().expect("a folder");
    for (name, target) in files(&process.to_string()) {
        let is_log = name == "2";
        assert!(is_log || !target.starts_with(&home), "{}", target.display());
        let is_socket = target.to_string_lossy().starts_with("socket:[");
        assert!(!is_socket || is_log || !of_server.contains(&target), "{}", target.display());
    }
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("its status");
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}

/// What the server keeps, and what its process may not keep itself.
#[test]
fn values_outlive_the_process() {
    let home = Home::with(&["notes"]).with_processes();
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    let mut client = Client::start(&home);
    client.tools();
    client.call("notes_add", json!({"title": "tea", "text": "green"}));
    processes(client.process().id()).into_iter().for_each(kill);
    client.process().log_with("its process ended");
    until(|| {
        let listed = client.call("notes_list", json!({}));
        listed["structuredContent"]["notes"][0]["title"] == "tea"
    });
}

#[test]
fn commands_have_processes_too() {
    let home = Home::with(&["echo"]).with_processes();
    let called = run(&home, ["call".as_ref(), home.plugins().as_os_str(), "echo".as_ref(), "message=hello".as_ref()]);
    assert_eq!(String::from_utf8_lossy(&called.stdout), "hello\n", "{}", String::from_utf8_lossy(&called.stderr));
    let checked = run(&home, ["check".as_ref(), home.plugins().as_os_str()]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let broken = Guest::trapping_in_list();
    home.put_bytes(&broken.build(), "broken");
    let checked = run(&home, ["check".as_ref(), home.plugin("broken").as_os_str()]);
    let text = String::from_utf8_lossy(&checked.stdout) + String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success() && text.contains("list what the plugin offers; it crashed"), "{text}");
}

#[test]
fn the_process_itself_is_for_the_server_only() {
    let home = Home::new();
    let ended = run(&home, ["sandbox-worker", "--log-style", "command", "echo"]);
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && error.contains("started by the sandbox"), "{error}");
}

/// Nothing of a call is held up by what another plugin does to its own process.
#[test]
fn calls_of_one_plugin_run_side_by_side() {
    let home = Home::with(&["everything"]).with_processes();
    let mut client = Client::start(&home);
    client.tools();
    let began = Instant::now();
    let ids: Vec<u64> = (0..4)
        .map(|_| client.post("tools/call", json!({"name": "everything_slow_compute", "arguments": {"seconds": 1}})))
        .collect();
    for id in ids {
        let answer = client.answer(id);
        assert!(answer["result"]["isError"] != json!(true), "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(4), "they ran one after the other");
}

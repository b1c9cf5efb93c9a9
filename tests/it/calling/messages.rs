//! What else is said during a call: the plugin's messages and progress, and nothing of other plugins.

use std::ffi::OsStr;

use serde_json::json;

use super::wharf;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::{Process, command};
use crate::terminal::at_terminal;

#[test]
fn logs_and_prints_of_the_call_are_shown() {
    let home = Home::with(&["echo"]);
    let guest = Guest::returning("answer")
        .logs("warns", "look out", 2, "")
        .prints("prints", "one\ntwo")
        .reports_progress("progress", "half");
    home.put_bytes(&guest.build(), "herald");
    let call = |arguments: &[&str]| {
        let ran = wharf(&home, "call", &home.plugins(), arguments);
        assert_eq!((ran.code, ran.out.as_str()), (0, "answer\n"), "{}", ran.err);
        ran.err
    };
    assert_eq!(call(&["herald_warns"]), "herald | warning: look out\n".repeat(2));
    assert_eq!(call(&["herald_prints"]), "herald | one\nherald | two\n");
    // A line that is rewritten is for terminals.
    assert_eq!(call(&["herald_progress"]), "");
    assert_eq!(call(&["herald_prints", "--log", "off"]), "");
}

#[test]
fn progress_is_one_line_on_a_terminal() {
    let home = Home::with(&["everything"]);
    let folder = home.plugins();
    let arguments = ["call".as_ref(), folder.as_os_str(), "everything_test_tool_with_progress".as_ref()];
    let output = at_terminal(&home, &arguments, |person| {
        person.sees("[####################] 100/100 done\u{1b}[?7h\r\u{1b}[2K", "");
    });
    assert_eq!(output.stdout, b"Went from 0 to 100.\n");
}

#[test]
fn refused_plugins_are_reported_only_if_the_tool_may_be_theirs() {
    let home = Home::with(&["echo"]);
    home.put_bytes(b"no plugin", "broken");
    let call = |tool: &str| wharf(&home, "call", &home.plugins(), &[tool, "message=x"]).err;
    assert_eq!(call("echo"), "");
    assert!(call("broken_tool").contains("refused"), "{}", call("broken_tool"));
    let listed = wharf(&home, "list", &home.plugins(), &[]);
    assert!(listed.err.contains("broken.wasm"), "{}", listed.err);
}

/// As the wrapper for TypeScript logs it.
#[test]
fn an_exception_with_its_stack_is_shown_as_lines() {
    let home = Home::new();
    let stack = "RangeError: bad\n    at f (plugin.ts:42)\n    at plugin.ts:7\n";
    let guest = Guest::returning("answer").logs_debug("fails", stack).logs_debug("tells", "a detail\nand another");
    home.put_bytes(&guest.build(), "thrower");
    let plugin = home.plugin("thrower");
    let call = |tool: &str, more: &[&str]| wharf(&home, "call", &plugin, &[&[tool], more].concat()).err;
    let shown = "thrower | RangeError: bad\nthrower |     at f (plugin.ts:42)\nthrower |     at plugin.ts:7\n";
    assert_eq!(call("fails", &[]), shown);
    assert_eq!(call("tells", &[]), "");
    let expected = "thrower | debug: a detail\nthrower | debug: and another\n";
    assert!(call("tells", &["--log", "guest=debug"]).contains(expected));
    // In the log of a server each is a line of the plugin too.
    let folder = home.plugins();
    let words: [&OsStr; 4] = ["serve".as_ref(), folder.as_os_str(), "--log".as_ref(), "guest=debug".as_ref()];
    let mut client = Client::initialized(Process::start(command(&home, words)), "2025-11-25");
    client.tools_until(|tools| !tools.is_empty());
    client.call("thrower_fails", json!({}));
    client.process().log_with("guest:     at plugin.ts:7");
}

/// A script or an agent that waits sees why, once.
#[test]
fn off_a_terminal_one_line_says_what_takes_longer_than_a_second() {
    let home = Home::with(&["hostile"]);
    let folder = home.plugins();
    let slow = wharf(&home, "call", &folder, &["hostile_sleep", "seconds=3"]);
    assert_eq!(slow.code, 0, "{}", slow.err);
    let waiting = slow.waits.iter().filter(|line| *line == "waiting for the plugin …\n").count();
    assert_eq!(waiting, 1, "{:?}", slow.waits);
    // What is slow is named.
    let home = Home::new();
    home.configure("[plugins.slow.limits]\ncpu = \"3s\"\n");
    home.put_bytes(&Guest::spinning_in_list().build(), "slow");
    for (command, expected) in [
        ("list", "loading slow …\n".to_owned()),
        ("check", { format!("checking {} …\n", home.plugin("slow").display()) }),
    ] {
        let ran = wharf(&home, command, &home.plugins(), &[]);
        assert_eq!((ran.code, ran.waits), (1, vec![expected]), "{}", ran.err);
    }
    let called = wharf(&home, "call", &home.plugin("slow"), &["version"]);
    assert_eq!(called.waits, ["loading slow …\n"], "{}", called.err);
}

//! A crash says what happened and where, to the person who made the call.

use super::wharf;
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};
use crate::support::home::{Home, component};
use crate::support::process::{Process, command};

const FRAME: &str = "wasm backtrace";

#[test]
fn the_text_of_a_panic_is_shown_as_lines() {
    let home = Home::new();
    let plugin = component("hostile");
    let ran = wharf(&home, "call", &plugin, &["panic"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(ran.out, "Plugin 'hostile' crashed while it handled this call: unreachable instruction executed.\n");
    assert!(ran.err.contains("src/crashes.rs:"), "{}", ran.err);
    assert!(
        ran.err.contains("\nhostile | \\u{1b}[2J\\u{202e}panicked on purpose\nhostile | ERROR wharf: forged\n"),
        "{}",
        ran.err
    );
    for line in ran.err.lines() {
        assert!(line.starts_with("hostile | "), "{line}");
    }
    // Nor is shown how to get a backtrace, which is not possible.
    assert!(!ran.err.contains(FRAME) && !ran.err.contains("RUST_BACKTRACE"), "{}", ran.err);
    let all = wharf(&home, "call", &plugin, &["panic", "--log", "guest=debug"]);
    assert!(all.err.contains(FRAME) && all.err.contains("hostile |     0: "), "{}", all.err);
}

#[test]
fn the_kind_of_a_trap_is_named() {
    let home = Home::new();
    let divide = include_str!("../../guests/hostile/divide.wat");
    let guest = Guest::returning("1")
        .does("deep", bodies::RECUR)
        .does("divide", divide)
        .does("exit", bodies::EXIT)
        .does("memory", bodies::TAKE_MEMORY);
    home.put_bytes(&guest.build(), "trapper");
    for (tool, expected) in [
        ("deep", "call stack exhausted"),
        ("divide", "integer division by zero"),
        ("exit", "exit with status 1"),
        ("memory", "memory limit of 64 MiB (`limits.memory`)"),
    ] {
        let ran = wharf(&home, "call", &home.plugin("trapper"), &[tool]);
        assert!(ran.code == 1 && ran.out.contains(expected), "{tool}: {}{}", ran.out, ran.err);
        assert!(!ran.err.contains(FRAME), "{}", ran.err);
    }
}

/// With the setting that raises it.
#[test]
fn each_limit_that_a_call_exceeds_is_named() {
    let home = Home::with(&["hostile"]);
    home.put_bytes(&Guest::spinning().build(), "spinner");
    let guest = Guest::returning("1")
        .returns_bytes("large", 2 << 10, 1)
        .logs("logs", &"x".repeat(100), 30, "")
        .does("memory", bodies::TAKE_MEMORY);
    home.put_bytes(&guest.build(), "greedy");
    home.configure(
        "[plugins.greedy.limits]\nmemory = \"1 MiB\"\noutput = \"1 KiB\"\nlog = \"1 KiB\"\n\
         [plugins.hostile.limits]\ntimeout = \"200ms\"\n[plugins.spinner.limits]\ncpu = \"50ms\"\n",
    );
    for (words, said) in [
        (&["spinner_version"][..], "CPU time limit of 50 ms (`limits.cpu`)"),
        (&["hostile_sleep", "seconds=3"], "time limit of 200 ms (`limits.timeout`)"),
        (&["greedy_memory"], "memory limit of 1 MiB (`limits.memory`)"),
        (&["greedy_large"], "a result over its limit of 1 KiB (`limits.output`)"),
    ] {
        let ran = wharf(&home, "call", &home.plugins(), words);
        assert!(ran.code == 1 && ran.out.contains(said), "{words:?}: {}{}", ran.out, ran.err);
    }
    let ran = wharf(&home, "call", &home.plugins(), &["greedy_logs"]);
    assert!(ran.code == 0 && ran.err.contains("messages over the call's log limit (`limits.log`)"), "{}", ran.err);
}

/// As a plugin in Python does with `MemoryError`.
#[test]
fn an_allocation_over_the_limit_is_reported_even_if_the_plugin_survives() {
    let home = Home::new();
    let guest = Guest::returning("survived").does("take", "(drop (memory.grow (i32.const 16000)))");
    home.put_bytes(&guest.build(), "taker");
    let ran = wharf(&home, "call", &home.plugin("taker"), &["take"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "survived\n"), "{}", ran.err);
    assert!(ran.err.contains("exceeds the call's memory limit of 64 MiB (`limits.memory`)"), "{}", ran.err);
}

#[test]
fn the_last_lines_before_a_crash_are_logged_over_the_limit_of_a_call() {
    let home = Home::new();
    let noise = "noise that fills the log\n".repeat(160);
    let guest = Guest::returning("1")
        .prints_errors("crash", &noise, 30, "the reason of the crash", bodies::TRAP)
        .prints_errors("answer", &noise, 30, "the end of the noise", "");
    home.put_bytes(&guest.build(), "noisy");
    let crash = wharf(&home, "call", &home.plugin("noisy"), &["crash"]);
    assert!(crash.err.contains("messages over the call's log limit"), "{}", crash.err);
    assert!(crash.err.ends_with("noisy | the reason of the crash\n"), "{}", crash.err);
    assert!(crash.err.len() < 200 << 10, "{} bytes", crash.err.len());
    let answer = wharf(&home, "call", &home.plugin("noisy"), &["answer"]);
    assert!(!answer.err.contains("the end of the noise"), "{}", answer.err);
}

/// `wharf dev` starts its server so.
#[test]
fn a_server_of_an_author_logs_what_plugins_print_as_lines() {
    let home = Home::with(&["hostile"]);
    let folder = home.plugins();
    let process = Process::start(command(&home, ["serve".as_ref(), folder.as_os_str(), "--for-dev".as_ref()]));
    let mut client = Client::new(process, true);
    client.call("hostile_panic", serde_json::json!({}));
    client.process().log_with("\nhostile | ERROR wharf: forged\n");
}

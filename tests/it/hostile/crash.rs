//! Plugins that crash, and those that take all memory.

use serde_json::json;

use super::{fault, unharmed};
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;

#[test]
fn a_crash_costs_one_call() {
    let crashes = [
        ("trap", bodies::TRAP, "trap"),
        ("recur", bodies::RECUR, "trap"),
        ("divide", bodies::DIVIDE, "trap"),
        ("outside", bodies::READ_OUTSIDE, "trap"),
        ("exit", bodies::EXIT, "trap"),
        ("memory", bodies::TAKE_MEMORY, "memory"),
    ];
    let home = Home::with(&["echo"]);
    // One for each, so that none fails often enough to be left alone.
    for (name, body, _) in crashes {
        home.put_bytes(&Guest::saying("1").does("crash", body).build(), name);
    }
    let mut client = Client::start(&home);
    let process = client.process().id();
    for _ in 0..2 {
        for (name, _, code) in crashes {
            fault(&mut client, name, "crash", code);
            assert_eq!(client.text(&format!("{name}_version"), json!({})), "1");
            assert_eq!(client.text("echo", json!({"message": name})), name);
        }
    }
    assert_eq!(client.process().id(), process);
    unharmed(client);
}

#[test]
fn crashes_at_the_same_time_are_told_apart() {
    let guest = Guest::saying("1").does("trap", bodies::TRAP).does("memory", bodies::TAKE_MEMORY);
    let (home, plugins) = (Home::with(&["echo"]), ["one", "two", "three", "four"]);
    for plugin in plugins {
        home.put_bytes(&guest.build(), plugin);
    }
    let mut client = Client::start(&home);
    client.tools();
    let mut asked = Vec::new();
    for tool in ["trap", "memory", "version", "trap", "memory", "version"] {
        for plugin in plugins {
            asked.push((client.post("tools/call", json!({"name": format!("{plugin}_{tool}")})), tool));
        }
    }
    for (id, tool) in asked {
        let answer = client.answer(id);
        let code = &answer["result"]["_meta"]["wharf/fault"]["code"];
        match tool {
            "version" => assert_eq!(answer["result"]["content"][0]["text"], "1", "{answer}"),
            _ => assert_eq!(code, tool, "{answer}"),
        }
    }
    unharmed(client);
}

#[test]
fn taken_memory_is_given_back() {
    let guest = Guest::saying("1").does("memory", bodies::TAKE_MEMORY);
    let (home, plugins) = (Home::with(&["echo"]), ["one", "two", "three", "four", "five"]);
    for plugin in plugins {
        home.put_bytes(&guest.build(), plugin);
    }
    let mut client = Client::start(&home);
    assert_eq!(client.text("one_version", json!({})), "1");
    let before = client.process().resident();
    // Four are not enough to be left alone.
    for plugin in plugins.into_iter().cycle().take(20) {
        fault(&mut client, plugin, "memory", "memory");
    }
    // Twenty times 64 MiB, if it were kept.
    let grown = client.process().resident().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more than before");
    unharmed(client);
}

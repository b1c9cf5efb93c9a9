//! Plugins that crash, and those that take all memory.

use serde_json::json;

use super::{fault, home_of, unharmed};
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};

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
    let guest = crashes.iter().fold(Guest::saying("1"), |guest, (name, body, _)| guest.does(name, body));
    let home = home_of(&guest);
    let mut client = Client::start(&home);
    let process = client.process().id();
    for _ in 0..2 {
        for (name, _, code) in crashes {
            fault(&mut client, "hostile", name, code);
            assert_eq!(client.text("hostile_version", json!({})), "1", "after {name}");
            assert_eq!(client.text("echo", json!({"message": name})), name);
        }
    }
    assert_eq!(client.process().id(), process);
    unharmed(client);
}

#[test]
fn crashes_at_the_same_time_are_told_apart() {
    let guest = Guest::saying("1").does("trap", bodies::TRAP).does("memory", bodies::TAKE_MEMORY);
    let home = home_of(&guest);
    let mut client = Client::start(&home);
    client.tools();
    let asked: Vec<(u64, &str)> = ["trap", "memory", "version"]
        .into_iter()
        .cycle()
        .take(24)
        .map(|tool| (client.post("tools/call", json!({"name": format!("hostile_{tool}")})), tool))
        .collect();
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
    let home = home_of(&guest);
    let mut client = Client::start(&home);
    assert_eq!(client.text("hostile_version", json!({})), "1");
    let before = client.process().resident();
    for _ in 0..20 {
        fault(&mut client, "hostile", "memory", "memory");
    }
    // Twenty times 64 MiB, if it were kept.
    let grown = client.process().resident().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes more than before");
    unharmed(client);
}

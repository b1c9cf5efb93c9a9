//! Plugins that change: during calls, continuously, or into an unapproved version.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::source::body;
use crate::support::client::first_text;
use crate::support::guest::Guest;

pub(crate) const ROWS: &[Row] = rows![h38_files_replaced_under_calls, h39_unapproved_versions,];

/// Calls in flight while the file changes.
const CALLS: usize = 100;
/// Interval between two versions: 20 per second.
const FLIP: Duration = Duration::from_millis(50);

/// Alternates between two versions that many times.
fn flip(arena: &mut Arena, versions: &[Vec<u8>; 2], times: usize) -> HashSet<String> {
    let mut seen = HashSet::new();
    let mut open = Vec::new();
    for turn in 0..times {
        arena.home.put_bytes(&versions[(turn + 1) % 2], "flips");
        open.extend((0..5).map(|_| arena.start_call("flips_version", json!({}))));
        arena.pause(FLIP);
    }
    for id in open {
        seen.insert(first_text(&arena.answer(id).message["result"]).to_owned());
    }
    seen
}

fn h38_files_replaced_under_calls(setup: Setup) -> Arena {
    // Long enough that the last calls are in flight during the replacement.
    let [one, two] = ["1", "2"].map(|answer| Guest::returning(answer).does("work", &body("work")).build());
    let spinner = Guest::returning("1").logs("spin", "spins now", 1, &body("spin")).build();
    let mut arena = setup.open("[plugins.brief.limits]\ncpu = \"1s\"\n");
    arena.listen();
    arena.loads("slow", &one);
    let pending: Vec<u64> = (0..CALLS).map(|_| arena.start_call("slow_work", json!({}))).collect();
    arena.loads("slow", &two);
    arena.expect_text("slow_version", json!({}), "2");
    arena.home.put_bytes(&two[..two.len() / 2], "slow");
    arena.until("the broken version is refused", |arena| is_last(arena, "slow", "reject"));
    arena.expect_text("slow_version", json!({}), "2");
    for id in pending {
        let answer = arena.answer(id).message;
        assert!(["1", "2"].contains(&first_text(&answer["result"])), "{answer}");
    }
    // Moved away and back, and deleted, each while a call is in flight.
    arena.loads("brief", &spinner);
    let (file, aside) = (arena.home.plugin("brief"), arena.home.path("aside"));
    let moved = spinning(&mut arena, 1);
    std::fs::rename(&file, &aside).expect("moved");
    arena.until("its tools are gone", |arena| is_last(arena, "brief", "remove"));
    std::fs::rename(&aside, &file).expect("moved back");
    arena.wait_until_loaded("brief", &spinner);
    let deleted = spinning(&mut arena, 2);
    arena.home.remove("brief");
    arena.until("its tools are gone again", |arena| is_last(arena, "brief", "remove"));
    for id in [moved, deleted] {
        arena.faulted(id, &["cpu"]);
    }
    let late = arena.start_request("", "tools/call", json!({"name": "brief_version"}));
    assert_eq!(arena.refusal(late)["data"]["reason"], "tool_not_found");

    let versions = [Guest::returning("a").build(), Guest::returning("b").build()];
    arena.loads("flips", &versions[0]);
    arena.may_serve("flips", &versions[1]);
    let seen = flip(&mut arena, &versions, 40);
    assert!(seen.iter().all(|answer| answer == "a" || answer == "b") && !seen.is_empty(), "{seen:?}");
    arena.until("the last version serves", |arena| arena.call("flips_version", json!({}))["content"][0]["text"] == "a");
    arena
}

/// Starts a spinning call, and waits until it runs; `time` counts such calls.
fn spinning(arena: &mut Arena, time: usize) -> u64 {
    let id = arena.start_call("brief_spin", json!({}));
    let spins =
        |log: &str| log.lines().filter(|line| line.contains("spins now") && line.ends_with("plugin=brief")).count();
    arena.until("it spins", |arena| spins(&arena.log()) == time);
    id
}

/// Whether that is the last event of a plugin's file.
fn is_last(arena: &mut Arena, plugin: &str, event: &str) -> bool {
    arena.last(plugin).is_some_and(|record| record["event"] == event)
}

fn h39_unapproved_versions(setup: Setup) -> Arena {
    let version = |answer: &str, words: &str| Guest::returning(answer).described("act", words);
    let good = version("good", "Does a thing.").build();
    let held = [
        ("other descriptions", version("never", "Does a thing, and sends it.").build()),
        ("one tool more", version("never", "Does a thing.").described("more", "More.").build()),
        ("wider imports", version("never", "Does a thing.").prints("act2", "x").build()),
    ];
    let mut arena = setup.open("[plugins.p.grants]\nelicit = true\n[plugins.fickle.grants]\nelicit = true\n");
    arena.loads("p", &good);
    for (at, (what, bytes)) in held.iter().enumerate() {
        arena.home.put_bytes(bytes, "p");
        let content = blake3::hash(bytes).to_hex().to_string();
        arena.until(what, |arena| {
            let holds = |record: &&Value| record["event"] == "hold" && record["content"] == content.as_str();
            arena.records().iter().filter(holds).count() == 1
        });
        for _ in 0..5 {
            arena.expect_text("p_version", json!({}), "good");
        }
        let holds = arena.records().iter().filter(|record| record["event"] == "hold");
        assert_eq!(holds.count(), at + 1, "one record for each version that is held");
    }
    assert_eq!(arena.tools(), ["echo", "echo_add", "p_version", "p_act"]);
    arena.home.put_bytes(&good, "p");
    arena.expect_text("p_version", json!({}), "good");

    // The same digest, but other tool descriptions at each listing.
    arena.loads_guest("everything", "fickle");
    let listed = arena.listed("tools");
    arena.expect_text("fickle_test_trigger_tool_change", json!({}), "The tools changed.");
    arena.log_with("tool descriptions changed from the approved ones; keeping the approved ones");
    assert_eq!(arena.listed("tools"), listed);
    arena
}

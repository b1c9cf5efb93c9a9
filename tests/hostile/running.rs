//! Plugins that never end, crash, or take all there is of something.

use std::time::Duration;

use serde_json::json;

use crate::arena::{Arena, Stage};
use crate::support::guest::{Guest, bodies};
use crate::{Row, row};

pub(crate) const ROWS: &[Row] = &[
    row(14, "a call that never ends, alone or asking the host", h14_a_call_never_ends),
    row(17, "all memory: taken, declared, in many modules", h17_all_memory),
    row(18, "crashes: table, stack, division, bounds, exit, panic", h18_crashes),
];

const LIMIT: Duration = Duration::from_millis(300);

/// Settings that stop a call of those plugins after [`LIMIT`] of one kind.
fn limited(kind: &str, plugins: &[&str]) -> String {
    let entry = |plugin: &&str| format!("[plugins.{plugin}.limits]\n{kind} = \"300ms\"\n");
    plugins.iter().map(entry).collect()
}

fn h14_a_call_never_ends(stage: Stage) -> Arena {
    let guest = Guest::saying("1").does("spin", bodies::SPIN).does("calling", bodies::SPIN_CALLING).build();
    let mut arena = stage.open(&(limited("timeout", &["time"]) + &limited("cpu", &["work"])));
    for (plugin, code) in [("time", "timeout"), ("work", "cpu")] {
        arena.loads(plugin, &guest);
        for tool in ["spin", "calling"] {
            arena.stopped(&format!("{plugin}_{tool}"), LIMIT, code);
        }
        arena.says(&format!("{plugin}_version"), json!({}), "1");
    }
    arena
}

fn h17_all_memory(stage: Stage) -> Arena {
    let guest = Guest::saying("1").does("memory", bodies::TAKE_MEMORY).build();
    let plugins = ["one", "two", "three", "four", "five"];
    let mut arena = stage.open("");
    for plugin in plugins {
        arena.loads(plugin, &guest);
    }
    // Four faults of a plugin are not enough for it to be left alone; 20 times 64 MiB.
    for _ in 0..4 {
        let asked: Vec<u64> = plugins.iter().map(|plugin| arena.ask(&format!("{plugin}_memory"), json!({}))).collect();
        for id in asked {
            arena.faulted(id, &["memory"]);
        }
    }
    arena
}

fn h18_crashes(stage: Stage) -> Arena {
    let crashes = [
        ("trap", bodies::TRAP),
        ("table", bodies::TAKE_TABLE),
        ("recur", bodies::RECUR),
        ("divide", bodies::DIVIDE),
        ("outside", bodies::READ_OUTSIDE),
        ("exit", bodies::EXIT),
    ];
    let guest = crashes.iter().fold(Guest::saying("1"), |guest, (name, body)| guest.does(name, body)).build();
    let mut arena = stage.open("");
    // Four faults are not enough to be left alone.
    for (at, (name, _)) in crashes.iter().enumerate() {
        let plugin = if at < 4 { "first" } else { "second" };
        if at % 4 == 0 {
            arena.loads(plugin, &guest);
        }
        arena.fault(&format!("{plugin}_{name}"), json!({}), "trap");
        arena.says(&format!("{plugin}_version"), json!({}), "1");
    }
    arena
}

//! Components with async functions: what they make of the engine, and streams that do not end.

use serde_json::json;

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::support::floods::FLOODS;
use crate::support::home::component;

pub(crate) const ROWS: &[Row] = rows![h82_floods_of_streams_and_waits, h83_streams_without_an_end];

fn limits(plugins: &[&str]) -> String {
    let limits = "cpu = '300ms'\ntimeout = '1s'\noutput = '64 KiB'\n";
    plugins.iter().map(|plugin| format!("[plugins.{plugin}.limits]\n{limits}")).collect()
}

fn h82_floods_of_streams_and_waits(setup: Setup) -> Arena {
    let mut arena = setup.open(&limits(&FLOODS.map(|flood| flood.name)));
    for flood in FLOODS {
        arena.loads(flood.name, &flood.component());
        for _ in 0..3 {
            arena.fault(&format!("{}_flood", flood.name), json!({}), flood.code);
        }
    }
    arena
}

fn h83_streams_without_an_end(setup: Setup) -> Arena {
    let mut arena = setup.open(&limits(&["first", "second"]));
    let guest = std::fs::read(component("concurrent")).expect("a guest");
    let calls = [
        ("endless", json!({}), "output-too-large"),
        ("bytes", json!({"size": u32::MAX}), "output-too-large"),
        ("silent", json!({}), "timeout"),
        ("hang", json!({}), "timeout"),
        ("spin", json!({}), "cpu"),
        ("crash", json!({}), "trap"),
    ];
    arena.faults_with(&guest, &calls);
    arena
}

//! Plugins that never return, crash, or exhaust a resource.

use std::time::Duration;

use serde_json::json;

use crate::Row;
use crate::arena::{Arena, Setup};
use crate::source::{body, bytes_of, source};
use crate::support::guest::Guest;
use crate::support::guest::asking::{ROOTS, form};

pub(crate) const ROWS: &[Row] = rows![
    h14_call_that_never_ends,
    h15_many_calls_that_never_end,
    h16_instructions_that_fill_memory,
    h17_all_memory_taken_or_declared,
    h18_traps_of_every_kind,
    h19_crash_in_every_export,
    h29_leaked_handles,
    h40_waits_randomness_and_forged_states,
];

/// The limit of calls here, instead of the defaults of 10 s and 30 s.
const LIMIT: Duration = Duration::from_millis(300);

/// Settings that limit calls of those plugins to [`LIMIT`] of that kind.
fn limited(kind: &str, plugins: &[&str]) -> String {
    let entry = |plugin: &&str| format!("[plugins.{plugin}.limits]\n{kind} = \"300ms\"\n");
    plugins.iter().map(entry).collect()
}

fn h14_call_that_never_ends(setup: Setup) -> Arena {
    let guest = Guest::returning("1").does("spin", &body("spin")).does("calling", &body("spin-calling")).build();
    let mut arena = setup.open(&(limited("timeout", &["time"]) + &limited("cpu", &["work"])));
    for (plugin, code) in [("time", "timeout"), ("work", "cpu")] {
        arena.loads(plugin, &guest);
        for tool in ["spin", "calling"] {
            arena.stopped(&format!("{plugin}_{tool}"), LIMIT, code);
        }
        arena.expect_text(&format!("{plugin}_version"), json!({}), "1");
    }
    arena
}

fn h15_many_calls_that_never_end(setup: Setup) -> Arena {
    let guest = Guest::returning("1").does("spin", &body("spin")).build();
    let mut arena = setup.open(&limited("cpu", &["few", "many"]));
    for (plugin, calls) in [("few", 8), ("many", 64)] {
        arena.loads(plugin, &guest);
        let pending: Vec<u64> = (0..calls).map(|_| arena.start_call(&format!("{plugin}_spin"), json!({}))).collect();
        // A call waits up to 5 s for its turn; after five faults the plugin is quarantined.
        let codes = pending.into_iter().map(|id| arena.faulted(id, &["cpu", "busy", "quarantined"]).0);
        let spun = codes.filter(|code| code == "cpu").count();
        assert!(spun >= 5, "{spun} calls of {calls} ran");
    }
    arena
}

fn h16_instructions_that_fill_memory(setup: Setup) -> Arena {
    let guest = Guest::returning("1").does("fill", &body("fill")).build();
    let mut arena = setup.open(&(limited("timeout", &["time"]) + &limited("cpu", &["work"])));
    for (plugin, code) in [("time", "timeout"), ("work", "cpu")] {
        arena.loads(plugin, &guest);
        for _ in 0..2 {
            arena.stopped(&format!("{plugin}_fill"), LIMIT, code);
        }
    }
    arena
}

fn h17_all_memory_taken_or_declared(setup: Setup) -> Arena {
    let guest = Guest::returning("1").does("memory", &body("take-memory")).build();
    let plugins = ["first", "second", "third", "fourth", "fifth"];
    let mut arena = setup.open("");
    arena.refuses("declares", &source("take-4-gib"), "that the component declares");
    let modules = "(core module (memory 1024))".repeat(65);
    arena.refuses("modules", &bytes_of(&format!("(component {modules})")), "core modules than 64");
    let instances = "(core instance (instantiate $m))".repeat(60);
    let instances = bytes_of(&format!("(component (core module $m (memory 1024)) {instances})"));
    arena.refuses("instances", &instances, "memories than 4");
    for plugin in plugins {
        arena.loads(plugin, &guest);
    }
    // 20 times 64 MiB, five at once; four faults do not cause a quarantine.
    for _ in 0..4 {
        let pending: Vec<u64> =
            plugins.iter().map(|plugin| arena.start_call(&format!("{plugin}_memory"), json!({}))).collect();
        for id in pending {
            arena.faulted(id, &["memory"]);
        }
    }
    arena
}

fn h18_traps_of_every_kind(setup: Setup) -> Arena {
    let crashes = [
        ("trap", "trap"),
        ("table", "take-table"),
        ("recur", "recur"),
        ("divide", "divide"),
        ("outside", "read-outside"),
        ("exit", "exit"),
    ];
    let guest = crashes.iter().fold(Guest::returning("1"), |guest, (name, file)| guest.does(name, &body(file))).build();
    let calls = crashes.map(|(name, _)| (name, "trap"));
    let mut arena = setup.open("");
    arena.refuses("declares", &source("take-10-million"), "");
    arena.faults(&guest, &calls);
    arena.expect_text("first_version", json!({}), "1");
    arena.loads_guest("hostile", "hostile");
    arena.fault("hostile_panic", json!({}), "trap");
    // Its panic message is in the log, with control characters escaped.
    let log = arena.log_with("panicked on purpose");
    assert!(!log.contains(['\u{1b}', '\u{202e}']), "{log:?}");
    arena
}

fn h19_crash_in_every_export(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    arena.refuses("lister", &Guest::trapping_in_list().build(), "crashed");
    arena.loads_guest("hostile", "hostile");
    let of_prompt = json!({"type": "ref/prompt", "name": "hostile_panic"});
    for (method, params) in [
        ("prompts/get", json!({"name": "hostile_panic", "arguments": {"topic": "x"}})),
        ("resources/read", json!({"uri": "hostile://panic"})),
        ("completion/complete", json!({"ref": of_prompt, "argument": {"name": "topic", "value": ""}})),
    ] {
        let id = arena.start_request("hostile", method, params);
        let error = arena.refusal(id);
        assert_eq!(error["code"], -32603, "{method}: {error}");
        assert_eq!((&error["data"]["plugin"], &error["data"]["code"]), (&json!("hostile"), &json!("trap")), "{error}");
        arena.expect_text("hostile_sane", json!({}), "sane");
    }
    arena.fault("hostile_panic", json!({}), "trap");
    arena.expect_text("hostile_sane", json!({}), "sane");
    arena
}

fn h29_leaked_handles(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    arena.loads_guest("hostile", "hostile");
    for tool in ["leak-timers", "leak-streams", "leak-fields", "leak-polls"] {
        arena.fault(&format!("hostile_{tool}"), json!({}), "trap");
    }
    arena.expect_text("hostile_sane", json!({}), "sane");
    arena
}

fn h40_waits_randomness_and_forged_states(setup: Setup) -> Arena {
    let asks = Guest::returning("1")
        .asks("ask", &[("k", form(r#"{"type":"object","properties":{}}"#))])
        .asks("look", &[("k", ROOTS)])
        .build();
    let mut arena = setup.open(&limited("timeout", &["waits", "chance"]));
    arena.loads_guest("hostile", "waits");
    for tool in ["sleep", "poll", "poll-spin"] {
        arena.stopped(&format!("waits_{tool}"), LIMIT, "timeout");
    }
    arena.loads_guest("hostile", "chance");
    arena.stopped("chance_random-spin", LIMIT, "timeout");
    arena.fault("chance_random", json!({}), "trap");

    arena.refuses("caller", &source("calls-tools"), "call-tool");
    arena.loads("asks", &asks);
    arena.fault("asks_ask", json!({}), "denied");
    arena.fault("asks_look", json!({}), "denied");
    for state in ["", "AAAA", &"A".repeat(5000)] {
        let answers = json!({"k": {"action": "accept", "content": {}}});
        let params = json!({"name": "asks_ask", "arguments": {}, "requestState": state, "inputResponses": answers});
        let id = arena.start_request("asks", "tools/call", params);
        let error = arena.refusal(id);
        assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32602), &json!("invalid_request_state")));
    }
    arena
}

//! Schemas within all limits for which validating a value is expensive.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::Row;
use crate::arena::{Arena, PROMPT, Setup, outcome_code};
use crate::support::guest::Guest;
use crate::support::guest::asking::form;
use crate::support::http::HttpConnection;
use crate::support::streamable::{Endpoint, stateless};

pub(crate) const ROWS: &[Row] = rows![
    h46_many_rules_for_many_elements,
    h47_complex_patterns_for_long_strings,
    h48_costly_arguments_and_forms,
    h49_calls_cancelled_during_validation,
    h50_sigterm_during_validation,
];

/// Time limit of a call: its timeout of 3 s, 5 s for a turn, and a margin for a loaded machine.
const OVER: Duration = Duration::from_secs(3 + 5 + 3);

/// Allowed growth of memory while values of a megabyte are validated, and afterwards.
const PEAK: u64 = 256 << 20;
const LEFT: u64 = 64 << 20;

const LIMITS: &str = "cpu = \"1s\"\ntimeout = \"3s\"\n";

fn limits(plugins: &[&str]) -> String {
    plugins.iter().map(|plugin| format!("[plugins.{plugin}.limits]\n{LIMITS}")).collect()
}

fn listed(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(",")
}

fn of_member(name: &str, schema: &str, defs: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"{name}":{schema}}},"$defs":{{{defs}}}}}"#)
}

/// A value that is expensive to validate.
struct Costly {
    tool: &'static str,
    /// Schema of an object with the member `v`.
    schema: String,
    value: String,
}

impl Costly {
    fn new(tool: &'static str, schema: String, value: String) -> Self {
        Self { tool, schema, value }
    }

    fn arguments(&self) -> String {
        format!(r#"{{"v":{}}}"#, self.value)
    }
}

/// Many rules for many elements.
fn elements() -> Vec<Costly> {
    let twice = |inner: &str| {
        let all = listed(80, |_| r##"{"$ref":"#/$defs/a"}"##.to_owned());
        let defs = format!(r##""a":{{"allOf":[{}]}}"##, listed(80, |_| inner.to_owned()));
        of_member("v", &format!(r#"{{"type":"array","items":{{"allOf":[{all}]}}}}"#), &defs)
    };
    let any = listed(90, |n| format!(r##"{{"$ref":"#/$defs/a","required":["k{n}"]}}"##));
    let any_of = of_member(
        "v",
        &format!(r#"{{"items":{{"anyOf":[{any},true]}}}}"#),
        &format!(r#""a":{{"anyOf":[{}]}}"#, listed(90, |n| format!(r#"{{"required":["m{n}"]}}"#))),
    );
    let one_of = of_member(
        "v",
        &format!(
            r#"{{"contains":{{"oneOf":[{}]}},"minContains":1}}"#,
            listed(2000, |n| format!(r#"{{"const":"c{n}"}}"#))
        ),
        "",
    );
    let unique = of_member("v", r#"{"uniqueItems":true,"items":{"type":"object"}}"#, "");
    let array = |count: usize, part: &dyn Fn(usize) -> String| format!("[{}]", listed(count, part));
    vec![
        Costly::new("all", twice(r#"{"minimum":0}"#), array(150_000, &|_| "0".into())),
        Costly::new("any", any_of, array(60_000, &|_| "{}".into())),
        Costly::new("one", one_of, array(60_000, &|_| r#""c""#.into())),
        Costly::new("unique", unique, array(40_000, &|n| format!(r#"{{"a":[{{"b":{n}}}]}}"#))),
        Costly::new("not", twice(r#"{"not":{"type":"string","minLength":1}}"#), array(150_000, &|n| n.to_string())),
    ]
}

/// Pseudo-random letters `a` and `b`.
fn letters(count: usize) -> String {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    (0..count).map(next).collect()
}

/// Complex patterns for long strings.
fn patterns() -> Vec<Costly> {
    let text = format!("\"{}\"", letters(200_000));
    let pattern = |pattern: &str| of_member("v", &format!(r#"{{"type":"string","pattern":"{pattern}"}}"#), "");
    let of_names = listed(60, |n| format!(r#""[ab]*a[ab]{{{}}}[^ab]":{{"type":"integer"}}"#, 60 + n));
    let members = listed(3_000, |n| format!(r#""{}{n}":1"#, letters(60)));
    vec![
        Costly::new("tail", pattern("[ab]*a[ab]{900}[^ab]"), text.clone()),
        Costly::new("maybe", pattern("(?:[ab]?){900}[^ab]"), text.clone()),
        Costly::new("words", pattern(r"(?:\\w+[^c]*){40}c$"), text),
        Costly::new(
            "members",
            of_member("v", &format!(r#"{{"patternProperties":{{{of_names}}}}}"#), ""),
            format!("{{{members}}}"),
        ),
        Costly::new(
            "names",
            of_member("v", r#"{"propertyNames":{"pattern":"[ab]*a[ab]{800}[^ab]"}}"#, ""),
            format!("{{{}}}", listed(300, |n| format!(r#""{}{n}":1"#, letters(1_000)))),
        ),
    ]
}

/// A plugin whose results are expensive to validate.
fn giving(of: &[Costly]) -> Vec<u8> {
    let give = |guest: Guest, it: &Costly| guest.returns_with_schema(it.tool, &it.schema, &it.arguments());
    of.iter().fold(Guest::returning("1"), give).build()
}

/// Calls all of these tools at once; each call must end in time, with any outcome.
fn all_at_once(arena: &mut Arena, tools: &[&'static str], plugins: &[&str]) {
    let mut pending = Vec::new();
    for tool in tools {
        for plugin in plugins {
            pending.push((*tool, arena.start_request("", "tools/call", json!({"name": format!("{plugin}_{tool}")}))));
        }
    }
    for (tool, id) in pending {
        let took = arena.answer(id).took;
        assert!(took < OVER, "a call of '{tool}' ended after {took:?}, not within {OVER:?}");
    }
}

fn checked(setup: Setup, of: &[Costly]) -> Arena {
    let plugins = ["first", "second"];
    let guest = giving(of);
    let mut arena = setup.open(&limits(&plugins));
    arena.prompt();
    arena.bounded(PEAK, LEFT);
    for plugin in plugins {
        // Dropping tools whose schemas are too expensive is also correct.
        arena.loads_or_refuses(plugin, &guest, Duration::from_secs(30));
    }
    let tools: Vec<&str> = of.iter().map(|it| it.tool).collect();
    all_at_once(&mut arena, &tools, &plugins);
    arena
}

fn h46_many_rules_for_many_elements(setup: Setup) -> Arena {
    checked(setup, &elements())
}

fn h47_complex_patterns_for_long_strings(setup: Setup) -> Arena {
    checked(setup, &patterns())
}

fn h48_costly_arguments_and_forms(setup: Setup) -> Arena {
    let of = [elements(), patterns()];
    let taking = |guest: Guest, it: &Costly| guest.described(it.tool, "Takes much.").input_schema(&it.schema);
    let guests = of.each_ref().map(|part| part.iter().fold(Guest::returning("1"), taking).build());
    let choices = listed(150, |n| format!(r#""c{n}""#));
    let fields = listed(40, |n| format!(r#""f{n}":{{"type":"string","enum":[{choices}]}}"#));
    let mails = listed(20, |n| format!(r#""m{n}":{{"type":"string","format":"email","maxLength":100000}}"#));
    let asks = Guest::returning("1")
        .asks("ask", &[("k", form(&format!(r#"{{"type":"object","properties":{{{fields},{mails}}}}}"#)))]);
    let mut arena =
        setup.open(&format!("[plugins.asks.grants]\nelicit = true\n{}", limits(&["first", "second", "asks"])));
    for (plugin, guest) in ["first", "second"].iter().zip(&guests) {
        arena.loads_or_refuses(plugin, guest, Duration::from_secs(30));
    }
    arena.loads("asks", &asks.build());
    arena.prompt();
    arena.bounded(PEAK, LEFT);
    let mut pending = Vec::new();
    for (plugin, part) in ["first", "second"].iter().zip(&of) {
        for it in part {
            let id = arena.start_call_with_text(&format!("{plugin}_{}", it.tool), &it.arguments());
            pending.push((it.tool, Instant::now(), id));
        }
    }
    for (tool, at, id) in pending {
        arena.response_to(id, OVER);
        assert!(at.elapsed() < OVER + PROMPT, "arguments of '{tool}' took {:?}", at.elapsed());
    }
    let id = arena.start_call_with_params("asks_ask", r#""arguments":{}"#, "");
    let state = arena.response_to(id, OVER)["result"]["requestState"].clone();
    let answers = [
        format!("{{{}}}", listed(50_000, |n| format!(r#""x{n}":"c{n}""#))),
        format!("{{{}}}", listed(20, |n| format!(r#""m{n}":"{}@example.org""#, "a.".repeat(40_000)))),
        r#"{"\u0024serde_json::private::RawValue":"{\"f0\":\"c0\"}","f0":"c0"}"#.to_owned(),
        r#"{"f0":"c0","f0":"no choice"}"#.to_owned(),
    ];
    for content in answers {
        let responses = format!(
            r#""arguments":{{}},"requestState":{state},"inputResponses":{{"k":{{"action":"accept","content":{content}}}}}"#
        );
        let id = arena.start_call_with_params("asks_ask", &responses, "");
        let word = outcome_code(&arena.response_to(id, OVER));
        assert!(word != "ok" || content.len() > 1_000, "an invalid answer was accepted: {content}");
    }
    arena
}

/// Loads plugins with tools whose results are expensive to validate.
fn costly(arena: &mut Arena, plugins: &[&str]) {
    let guest = giving(&elements());
    for plugin in plugins {
        arena.loads_or_refuses(plugin, &guest, Duration::from_secs(30));
    }
}

fn h49_calls_cancelled_during_validation(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    costly(&mut arena, &["first", "second"]);
    arena.prompt();
    arena.bounded(PEAK, LEFT);
    // Calls of clients that disconnect; their audit records are not checked.
    let address = arena.address();
    let tools = ["first_all", "second_all", "first_any", "second_not"];
    if !arena.transport.is_http() {
        let pending = tools.map(|tool| arena.start_call_with_text(tool, "{}"));
        arena.pause(Duration::from_millis(700));
        pending.into_iter().for_each(|id| arena.cancel(id));
    } else {
        let endpoint = Endpoint::new(address.expect("it listens"));
        let open = tools.map(|tool| {
            let mut connection = HttpConnection::connect(endpoint.address);
            connection.send(&endpoint.post(&stateless(1, "tools/call", json!({"name": tool}))).bytes());
            connection
        });
        arena.pause(Duration::from_millis(700));
        drop(open);
    }
    // This includes the CPU time of the bystander's calls.
    let (began, mut used) = (Instant::now(), Duration::MAX);
    while used > Duration::from_millis(400) {
        assert!(began.elapsed() < Duration::from_secs(8), "cancelled calls still use {used:?} of CPU time per second");
        let before = arena.computed();
        arena.pause(Duration::from_secs(1));
        used = arena.computed() - before;
    }
    arena
}

fn h50_sigterm_during_validation(setup: Setup) -> Arena {
    let mut arena = setup.open("");
    costly(&mut arena, &["first", "second"]);
    let pending =
        ["first_all", "second_all", "first_any", "second_not"].map(|tool| arena.start_call_with_text(tool, "{}"));
    arena.pause(Duration::from_millis(500));
    arena.expect_clean_exit(&pending);
    arena
}

//! Listings within all limits that cost the host time and memory when it reads them.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::Row;
use crate::arena::{Arena, PROMPT, Setup};
use crate::support::guest::Guest;

pub(crate) const ROWS: &[Row] =
    rows![h51_thousands_of_small_patterns, h52_enums_multiplied_by_references, h53_costly_lists_changed_by_each_call,];

const MIB: u64 = 1 << 20;
/// Memory for reading a listing, and what may remain once the plugin is removed. A listing has one
/// budget; without it these took gigabytes.
const PEAK: u64 = 128 * MIB;
const LEFT: u64 = 64 * MIB;
/// Time limit until a listing is accepted or refused.
const VERDICT_TIMEOUT: Duration = Duration::from_secs(20);

/// A schema of that many properties, each generated from its number.
fn properties(count: usize, schema: impl Fn(usize) -> String) -> String {
    let all: Vec<String> = (0..count).map(|n| format!(r#""p{n}":{}"#, schema(n))).collect();
    format!(r#"{{"type":"object","properties":{{{}}}}}"#, all.join(","))
}

fn pattern(text: &str) -> String {
    json!({"pattern": text}).to_string()
}

/// Loads plugins one after the other; none may exceed the budget, whether accepted or refused.
fn loads_or_refuses(setup: Setup, guests: &[Vec<u8>]) -> Arena {
    let mut arena = setup.open("");
    arena.prompt();
    arena.bounded(PEAK, LEFT);
    for (n, guest) in guests.iter().enumerate() {
        let began = Instant::now();
        arena.loads_or_refuses("hostile", guest, VERDICT_TIMEOUT);
        assert!(began.elapsed() < VERDICT_TIMEOUT, "list {n} was read for {:?}", began.elapsed());
        arena.pause(Duration::from_millis(200));
    }
    arena.home.remove("hostile");
    arena.pause(Duration::from_millis(300));
    arena
}

fn h51_thousands_of_small_patterns(setup: Setup) -> Arena {
    let letters = properties(1_200, |n| pattern(&format!(r"\p{{L}}{{10}}{n}")));
    let words = properties(1_100, |n| pattern(&format!(r"(?i)\w{{20}}k{n}$")));
    let names: Vec<String> =
        (0..1_000).map(|n| format!("{}:true", json!(format!(r"^[^\x00-\x7f]{{12}}{n}")))).collect();
    let names = format!(r#"{{"type":"object","patternProperties":{{{}}}}}"#, names.join(","));
    let [one, two] = [[&letters, &words, &names], [&words, &names, &letters]].map(|schemas| {
        let named = ["a", "b", "c"].into_iter().zip(schemas);
        let takes =
            |guest: Guest, (name, schema): (&str, &String)| guest.described(name, "Takes.").input_schema(schema);
        named.fold(Guest::returning("1"), takes).build()
    });
    // An output schema costs as much as an input schema.
    let promises = Guest::returning("1").described("a", "Gives.").output_schema(&letters).build();
    loads_or_refuses(setup, &[one, two, promises])
}

fn h52_enums_multiplied_by_references(setup: Setup) -> Arena {
    let choices: Vec<String> = (0..4_000).map(|n| format!("\"{n:05x}\"")).collect();
    let values: Vec<String> = (0..2_500).map(|n| format!(r#"{{"v":[{n}]}}"#)).collect();
    let refs = |count: usize, to: &str| vec![format!(r##"{{"$ref":"#/$defs/{to}"}}"##); count].join(",");
    let fan = |leaf: &[String]| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"allOf":[{}]}}}},"$defs":{{"b":{{"anyOf":[{}]}},"c":{{"enum":[{}]}}}}}}"#,
            refs(90, "b"),
            refs(90, "c"),
            leaf.join(",")
        )
    };
    let deep = (0..24).fold(r#"{"enum":["a","b","c"]}"#.to_owned(), |inner, n| {
        format!(
            r#"{{"if":{{"properties":{{"k{n}":{inner}}}}},"then":true,"unevaluatedProperties":{{"type":"string"}}}}"#
        )
    });
    let deep = format!(r#"{{"type":"object","properties":{{"a":{deep}}}}}"#);
    let small = properties(25, |n| format!(r#"{{"enum":["{n}"],"pattern":"^\\d{{{}}}$"}}"#, 100 + n));
    let fans = [fan(&choices), fan(&values)];
    let one = fans
        .iter()
        .zip(["a", "b"])
        .fold(Guest::returning("1"), |guest, (schema, name)| guest.described(name, "Takes.").input_schema(schema));
    let two = one.described("deep", "Takes.").input_schema(&deep).described("gives", "Gives.").output_schema(&fans[0]);
    let crowd = (0..120)
        .fold(Guest::returning("1"), |guest, n| guest.described(&format!("t{n}"), "Takes.").input_schema(&small));
    loads_or_refuses(setup, &[two.build(), crowd.build()])
}

fn h53_costly_lists_changed_by_each_call(setup: Setup) -> Arena {
    let letters = properties(48, |n| pattern(&format!(r"\p{{L}}{{5}}{n}")));
    let choices: Vec<String> = (0..6_000).map(|n| n.to_string()).collect();
    let choices = format!(r#"{{"type":"object","properties":{{"a":{{"enum":[{}]}}}}}}"#, choices.join(","));
    let guest = Guest::returning("1")
        .notifies_list_changed("tell", "")
        .described("letters", "Takes.")
        .input_schema(&letters)
        .described("choices", "Takes.")
        .input_schema(&choices)
        .lists_differently("fickle");
    let mut arena = setup.open("");
    arena.prompt();
    arena.bounded(PEAK, LEFT);
    for plugin in ["first", "second"] {
        arena.loads(plugin, &guest.build());
    }
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        let pending = ["first_tell", "second_tell"].map(|tool| arena.start_call(tool, json!({})));
        for id in pending {
            let took = arena.answer(id).took;
            assert!(took < PROMPT, "a call that announces a new list took {took:?}");
        }
    }
    arena
}

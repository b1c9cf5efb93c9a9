//! Tools are shown in shapes that agent libraries can read.

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::{Home, repository};
use crate::support::process::run;
use crate::support::schemas::unreadable;

/// The schema of a compiler: an optional parameter that may be null, and no other parameters.
const INPUT: &str = r#"{"type":"object","properties":{"zone":{"type":["string","null"]},"form":{"oneOf":[{"const":"a","description":"First."},{"const":"b"}]}},"additionalProperties":false}"#;

fn entry(client: &mut Client, name: &str) -> Value {
    let found = client.tool_entries().into_iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no tool {name}"))
}

#[test]
fn every_plugin_shows_readable_schemas() {
    let guests = ["echo", "everything", "fetch", "files", "folders", "hello", "online", "plain", "wasmcp"];
    let home = Home::with(&guests);
    home.configure("[server]\ndiscovery = true\n");
    for name in ["text", "time", "math", "notes", "survey"] {
        home.put_file(&repository().join(format!("plugins/prebuilt/{name}.wasm")), name);
    }
    let mut client = Client::start_modern(&home);
    let tools = client.tool_entries();
    assert!(tools.len() > 80, "only {} tools", tools.len());
    let wrong = unreadable(&tools);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rules find what they are for.
#[test]
fn the_rules_name_unreadable_schemas() {
    let tool = |schema: Value| json!({ "name": "f", "description": "d", "inputSchema": schema });
    let of = |property: Value| json!({ "type": "object", "properties": { "a": property } });
    for (schema, what) in [
        (json!({ "type": "object" }), "without properties"),
        (of(json!({ "type": ["string", "null"] })), "array of types"),
        (of(json!({ "oneOf": [{ "const": 1 }] })), "oneOf"),
        (of(json!({ "type": "object", "properties": {}, "additionalProperties": false })), "additionalProperties"),
        (of(json!({ "type": "string", "const": "x" })), "const"),
        (of(json!({ "enum": ["x"] })), "no type"),
        (of(json!({ "description": "any" })), "no type"),
        (of(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })), "null for the optional a"),
        (json!({ "type": "object", "properties": { "a b": {} } }), "the name of a b"),
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties": { "a": { "oneOf": [] } } }),
            "oneOf",
        ),
        (json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {} }), "$schema"),
    ] {
        let wrong = unreadable(&[tool(schema.clone())]);
        assert!(wrong.iter().any(|line| line.contains(what)), "{schema}: {wrong:?}");
    }
    let result = of(json!({ "anyOf": [{ "type": "number" }, { "enum": ["NaN"] }] }));
    let output = json!({ "name": "f", "description": "d", "inputSchema": of(json!({ "type": "string" })), "outputSchema": result });
    assert!(unreadable(&[output]).iter().any(|line| line.contains("no type")));
    assert_eq!(unreadable(&[json!({ "name": "f g", "inputSchema": of(json!({ "type": "null" })) })]).len(), 2);
}

#[test]
fn verbatim_schemas_are_a_setting() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").tools(&[("next", INPUT)]).build(), "cal");
    let shown = entry(&mut Client::start_modern(&home), "cal_next");
    let form = json!({ "type": "string", "enum": ["a", "b"], "description": "a: First." });
    let expected = json!({ "type": "object", "properties": { "zone": { "type": "string" }, "form": form } });
    assert_eq!(shown["inputSchema"], expected);

    home.configure("[server]\nschemas = \"verbatim\"\n");
    let mut client = Client::start_modern(&home);
    let verbatim = entry(&mut client, "cal_next");
    assert_eq!(verbatim["inputSchema"], serde_json::from_str::<Value>(INPUT).expect("JSON"));

    home.configure("[server]\nschemas = \"exact\"\n");
    let refused = run(&home, ["list"]);
    let reported = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(reported.contains("compatible") && reported.contains("verbatim"), "{reported}");
}

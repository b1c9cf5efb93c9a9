//! Plain components: each exported function is a tool.

use std::ffi::OsStr;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Home, component};
use crate::support::process::run;

/// The output of a command that must succeed.
fn out<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I) -> String {
    let output = run(home, arguments);
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn tool<'a>(tools: &'a Value, name: &str) -> &'a Value {
    let tools = tools["tools"].as_array().expect("a list");
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name} in {tools:?}"))
}

#[test]
fn each_function_is_a_tool() {
    let home = Home::new();
    home.put("plain", "shop");
    let mut client = Client::start(&home);
    let expected = [
        "shop_catalogue_find",
        "shop_crash",
        "shop_divide",
        "shop_greet",
        "shop_nested",
        "shop_numbers",
        "shop_pause",
        "shop_sell",
        "shop_setting",
        "shop_turn",
        "shop_variable",
        "shop_warehouse_find",
    ];
    let mut tools = client.tools();
    tools.sort();
    assert_eq!(tools, expected);
    // Methods of resources are left out, and logged.
    for left_out in ["[constructor]shelf", "[method]shelf.put"] {
        client.process().log_with(left_out);
    }
}

#[test]
fn schemas_are_derived_from_types() {
    let home = Home::new();
    home.put("plain", "shop");
    let mut client = Client::start_modern(&home);
    let listed = client.result("tools/list", json!({}));
    let item = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "price": { "type": "integer", "minimum": 0, "maximum": u64::MAX },
            "colour": { "type": "string", "enum": ["red", "dark-blue"] },
            "tags": { "type": "array", "items": { "type": "string" } },
        },
        "required": ["name", "price", "tags"],
    });
    let sell = tool(&listed, "shop_sell");
    assert_eq!(sell["inputSchema"]["properties"]["items"], json!({ "type": "array", "items": item }));
    assert_eq!(
        sell["inputSchema"]["properties"]["extras"],
        json!({
            "type": "array",
            "items": { "type": "string", "enum": ["gift-wrap", "express"] },
            "uniqueItems": true,
        })
    );
    let case = |tag: &str, val: Option<Value>| {
        let mut case = json!({
            "type": "object",
            "properties": { "tag": { "type": "string", "enum": [tag] } },
            "required": ["tag"],
        });
        if let Some(val) = val {
            case["properties"]["val"] = val;
            case["required"] = json!(["tag", "val"]);
        }
        case
    };
    assert_eq!(
        sell["inputSchema"]["properties"]["paid"],
        json!({ "anyOf": [
            case("cash", None),
            case("card", Some(json!({ "type": "string" }))),
            case("points", Some(json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }))),
        ] })
    );
    assert_eq!(sell["inputSchema"]["required"], json!(["items", "paid", "extras"]));
    assert_eq!(sell["outputSchema"]["required"], json!(["items", "total", "paid", "extras"]));
    let narrow = json!({ "type": "number", "minimum": -3.4028234663852886e38, "maximum": 3.4028234663852886e38 });
    let numbers = tool(&listed, "shop_numbers");
    assert_eq!(numbers["inputSchema"]["properties"]["i"], narrow);
    assert_eq!(numbers["inputSchema"]["properties"]["j"], json!({ "type": "number" }));
    let turn = tool(&listed, "shop_turn");
    assert_eq!(turn["inputSchema"]["properties"]["picture"], json!({ "type": "string", "contentEncoding": "base64" }));
    assert!(tool(&listed, "shop_pause").get("outputSchema").is_none());
    let reported = |name: &str| tool(&listed, name)["description"].clone();
    assert_eq!(reported("shop_greet"), "The function `greet`.");
    assert_eq!(reported("shop_turn"), "The function `turn` of `test:shop/catalogue@0.2.0`.");
}

#[test]
fn values_round_trip_unchanged() {
    let home = Home::new();
    home.put("plain", "shop");
    let mut client = Client::start_modern(&home);
    let mut structured = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments);
        assert!(result.get("isError").is_none(), "{result}");
        result["structuredContent"].clone()
    };
    let items = json!([{ "name": "lamp", "price": 9007199254740993u64, "colour": "dark-blue", "tags": ["a"] },
                       { "name": "", "price": 1, "colour": null, "tags": [] }]);
    let receipt = structured(
        "shop_sell",
        json!({ "items": items, "paid": { "tag": "card", "val": "1234" }, "extras": ["express"] }),
    );
    let expected = json!({
        "items": items,
        "total": 9007199254740994u64,
        "paid": { "tag": "card", "val": "1234" },
        "extras": ["express"],
    });
    assert_eq!(receipt, expected);
    let numbers = structured(
        "shop_numbers",
        json!({ "a": -128, "b": 255, "c": -32768, "d": 65535, "e": i32::MIN, "f": u32::MAX,
                "g": i64::MIN, "h": u64::MAX, "i": 0.1, "j": -1e300 }),
    );
    let expected = json!([-128, 255, -32768, 65535, i32::MIN, u32::MAX, i64::MIN, u64::MAX, 0.1, -1e300]);
    assert_eq!(numbers, expected);
    assert_eq!(structured("shop_turn", json!({ "picture": "AAEC/w==" })), "/wIBAA==");
    for it in [json!(null), json!({ "some": null }), json!({ "some": true })] {
        assert_eq!(structured("shop_nested", json!({ "it": it })), it);
    }
    assert_eq!(structured("shop_nested", json!({})), json!(null));
    assert_eq!(structured("shop_catalogue_find", json!({})), json!(null));
    assert_eq!(structured("shop_catalogue_find", json!({ "name": "x" }))["price"], u64::MAX);
    assert_eq!(structured("shop_warehouse_find", json!({ "name": "lamp" })), true);
    assert_eq!(structured("shop_divide", json!({ "a": 1, "b": 0 })), "Infinity");
    assert_eq!(structured("shop_divide", json!({ "a": 1, "b": 8 })), 0.125);
    let nothing = client.call("shop_pause", json!({}));
    assert!(nothing.get("structuredContent").is_none() && nothing["content"] == json!([]), "{nothing}");
}

#[test]
fn older_clients_get_results_in_an_object() {
    let home = Home::new();
    home.put("plain", "shop");
    let mut client = Client::start(&home);
    let listed = client.result("tools/list", json!({}));
    let greet = tool(&listed, "shop_greet");
    let wrapped = json!({ "type": "object", "properties": { "result": { "type": "string" } }, "required": ["result"] });
    assert_eq!(greet["outputSchema"], wrapped);
    let result = client.call("shop_greet", json!({ "name": "Ada" }));
    assert_eq!(result["structuredContent"], json!({ "result": "Hello, Ada!" }));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "Hello, Ada!" }]));
}

#[test]
fn faults_are_reported_as_for_any_plugin() {
    let home = Home::new();
    home.put("plain", "shop");
    let mut client = Client::start_modern(&home);
    let failed = client.call("shop_sell", json!({ "items": [], "paid": { "tag": "cash" }, "extras": [] }));
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["content"][0]["text"], "there is nothing to sell");
    assert!(failed.get("structuredContent").is_none(), "{failed}");
    let crashed = client.call("shop_crash", json!({}));
    assert_eq!(
        crashed["content"][0]["text"],
        "Plugin 'shop' crashed while it handled this call: unreachable instruction executed."
    );
    for (arguments, path) in
        [(json!({}), "name"), (json!({ "name": 1 }), "/name"), (json!({ "name": "x", "other": 1 }), "other")]
    {
        let refused = client.call("shop_greet", arguments.clone());
        assert_eq!(refused["isError"], true, "{arguments}");
        assert!(refused["content"].to_string().contains(path), "{refused}");
    }
    let refused = client.call("shop_turn", json!({ "picture": "no base64" }));
    assert!(refused["content"].to_string().contains("/picture"), "{refused}");
}

#[test]
fn the_older_version_of_wasi_config_is_provided() {
    let home = Home::new();
    home.put("plain", "shop");
    home.configure("[plugins.shop.grants]\nconfig = { unit = \"metric\" }\n");
    let mut client = Client::start(&home);
    assert_eq!(client.text("shop_setting", json!({ "name": "unit" })), r#""metric""#);
    assert_eq!(client.text("shop_setting", json!({ "name": "other" })), "null");
}

#[test]
fn tool_names_can_be_those_of_wassette() {
    let home = Home::new();
    home.put("plain", "shop");
    home.put("echo", "echo");
    home.configure("[plugins.shop]\nnames = \"wassette\"\n[plugins.echo]\nnames = \"wassette\"\n");
    let mut client = Client::start(&home);
    let tools = client.tools();
    for name in ["greet", "test_shop_catalogue_0_2_0_sell", "test_shop_warehouse_0_2_0_find", "echo", "echo_add"] {
        assert!(tools.iter().any(|tool| tool == name), "no {name} in {tools:?}");
    }
    assert_eq!(client.text("greet", json!({ "name": "Ada" })), "Hello, Ada!");
    // For a single file, the tool's unprefixed name is enough.
    let file = home.plugin("shop");
    let called = out(&home, ["call".as_ref(), file.as_os_str(), "greet".as_ref(), r#"{"name":"Bob"}"#.as_ref()]);
    assert_eq!(called.trim(), "Hello, Bob!");
}

#[test]
fn commands_support_plain_components() {
    let home = Home::new();
    let file = component("plain");
    let reported = out(&home, ["check".as_ref(), file.as_os_str()]);
    for line in ["  kind     plain component\n", "  made by  ", "  tool     sell", "left out the function"] {
        assert!(reported.contains(line), "no {line:?} in {reported}");
    }
    let json = out(&home, ["check".as_ref(), file.as_os_str(), "--json".as_ref()]);
    let found: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&found["kind"], &found["loads"]), (&json!("plain-component"), &json!(true)));
    assert!(found["makers"].to_string().contains("wit-component"), "{found}");
    let called = out(&home, ["call".as_ref(), file.as_os_str(), "greet".as_ref(), r#"{"name":"Ada"}"#.as_ref()]);
    assert!(called.contains("Hello, Ada!"), "{called}");
}

#[test]
fn check_explains_why_a_file_would_not_load() {
    let home = Home::new();
    let folder = home.plugins();
    for (name, text, kind, word) in [
        ("module", r#"(module (func (export "f")))"#, "core-module", "wasm32-wasip2"),
        (
            "extism",
            r#"(module (import "extism:host/env" "input_length" (func (result i64))))"#,
            "extism-plugin",
            "Extism",
        ),
        ("stream", r#"(component (import "f" (func (param "it" (stream u8)))))"#, "component", "WASI 0.2"),
    ] {
        home.put_bytes(&wat::parse_str(text).expect("valid text"), name);
        let file = folder.join(format!("{name}.wasm"));
        let output = run(&home, ["check".as_ref(), "--json".as_ref(), file.as_os_str()]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(found["kind"], kind, "{found}");
        assert!(found["hint"].to_string().contains(word), "{found}");
    }
}

#[test]
fn a_name_that_is_taken_is_reported_once() {
    let home = Home::new();
    home.configure("[plugins.shop]\nnames = \"wassette\"\n[plugins.store]\nnames = \"wassette\"\n");
    home.put("plain", "shop");
    home.put("plain", "store");
    let mut client = Client::start(&home);
    client.tools();
    // Each change of the list finds the same names taken.
    for name in ["one", "two"] {
        home.put("echo", name);
        client.tools_until(|tools| tools.iter().any(|tool| *tool == format!("{name}_echo")));
    }
    let log = client.process().log_with("may not use the name 'greet'");
    assert_eq!(log.matches("may not use the name 'greet'").count(), 1, "{log}");
}

const KEY: &str = "a-secret-of-some-length";

#[test]
fn a_secret_can_be_an_environment_variable() {
    let home = Home::new();
    home.put("plain", "shop");
    home.configure(
        "[secrets]\nkey = { file = \"key\" }\n[plugins.shop.grants]\n\
         env = { API_KEY = \"${key}\", HEADER = \"Bearer ${key}\", LANG = \"C\" }\n",
    );
    let file = home.path("config/wharf/key");
    std::fs::write(&file, KEY).expect("a secret");
    let mut client = Client::start_modern(&home);
    // The length shows that the plugin has the value itself.
    for (name, value, length) in
        [("API_KEY", "[redacted key]", KEY.len()), ("HEADER", "Bearer [redacted key]", KEY.len() + 7), ("LANG", "C", 1)]
    {
        let result = client.call("shop_variable", json!({ "name": name }));
        assert_eq!(result["structuredContent"], json!([value, length]), "{result}");
    }
    // Only `secrets` are in wasi:config.
    assert_eq!(client.text("shop_setting", json!({ "name": "key" })), "null");
    assert!(!client.process().log().contains(KEY), "{}", client.process().log());

    // Without the secret its variables are not set, and a call that fails says why.
    std::fs::remove_file(&file).expect("a file");
    let mut client = Client::start_modern(&home);
    let failed = client.call("shop_variable", json!({ "name": "API_KEY" }));
    assert_eq!(failed["_meta"]["wharf/fault"]["access"], "env", "{failed}");
    assert!(
        failed.to_string().contains("grant `env` cannot be used: it needs the secret 'key', which cannot be read"),
        "{failed}"
    );
    let result = client.call("shop_variable", json!({ "name": "LANG" }));
    assert_eq!(result["structuredContent"], json!(["C", 1]), "{result}");
}

#[test]
fn variables_name_secrets_that_exist() {
    let home = Home::new();
    for (value, word) in [("${other}", "there is no such secret"), ("${other", "the name of a secret")] {
        home.configure(&format!("[plugins.shop.grants]\nenv = {{ API_KEY = \"{value}\" }}\n"));
        let output = run(&home, ["config"]);
        let output = if output.status.success() { run(&home, ["status"]) } else { output };
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && reported.contains(word), "{reported}");
    }
}

#[cfg(feature = "dev")]
#[test]
fn an_imported_policy_sets_environment_variables_and_marks_folders_that_are_not_given() {
    let home = Home::new();
    home.put("plain", "shop");
    let file = home.path("shop.policy.yaml");
    let inside = home.path("home");
    let policy = format!(
        "$schema: https://example.org/policy.schema.json\nversion: \"1.0\"\npermissions:\n  environment:\n    allow:\n      - key: API_KEY\n  storage:\n    allow:\n      - uri: \"fs://{}\"\n        access: [\"read\"]\n",
        inside.display()
    );
    std::fs::write(&file, policy).expect("a file");
    let output = run(&home, ["import-policy".as_ref(), file.as_os_str()]);
    assert!(output.status.success());
    let (printed, reported) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(reported.contains("not given: the folder") && !reported.contains("$schema"), "{reported}");
    let beside = printed.lines().zip(printed.lines().skip(1)).find(|(_, line)| line.contains("host = "));
    assert!(beside.is_some_and(|(note, _)| note.starts_with("  # not given: the folder")), "{printed}");
    // The secret from a file, since the environment of the server is fixed here.
    home.configure(&printed.replace("{ env = \"API_KEY\" }", "{ file = \"key\" }"));
    std::fs::write(home.path("config/wharf/key"), KEY).expect("a secret");
    let mut client = Client::start_modern(&home);
    let result = client.call("shop_variable", json!({ "name": "API_KEY" }));
    assert_eq!(result["structuredContent"], json!(["[redacted API_KEY]", KEY.len()]), "{result}");
    assert_eq!(client.text("shop_setting", json!({ "name": "API_KEY" })), "\"[redacted API_KEY]\"");
}

#[cfg(feature = "dev")]
#[test]
fn a_policy_is_converted_to_grants() {
    let home = Home::new();
    let file = home.path("weather.policy.yaml");
    let policy = "version: \"1.0\"\npermissions:\n  network:\n    allow:\n      - host: \"api.example.org\"\n      - host: \"*.example.org\"\n";
    std::fs::write(&file, policy).expect("a file");
    let output = run(&home, ["import-policy".as_ref(), file.as_os_str()]);
    assert_eq!(output.status.code(), Some(0));
    let (printed, reported) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("[plugins.weather.grants]") && printed.contains("https://api.example.org"), "{printed}");
    assert!(reported.contains("*.example.org") && !printed.contains('*'), "{reported}");
    home.configure(&printed);
    out(&home, ["config"]);
    let unnamed = home.path("policy.yaml");
    std::fs::write(&unnamed, policy).expect("a file");
    let output = run(&home, ["import-policy".as_ref(), unnamed.as_os_str()]);
    assert_eq!(output.status.code(), Some(2));
    let named = out(&home, ["import-policy".as_ref(), unnamed.as_os_str(), "--name".as_ref(), "other".as_ref()]);
    assert!(named.contains("[plugins.other.grants]"), "{named}");
    std::fs::write(&unnamed, "a: [").expect("a file");
    let output = run(&home, ["import-policy".as_ref(), unnamed.as_os_str(), "--name".as_ref(), "other".as_ref()]);
    assert_eq!(output.status.code(), Some(2));
}

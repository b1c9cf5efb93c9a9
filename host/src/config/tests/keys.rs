//! That errors know every key.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::config::format::FORMAT;

/// A file in which only that key is set, with `name` for each name.
fn file(path: &str, value: &str) -> String {
    let mut text = value.to_owned();
    let mut needed = BTreeMap::new();
    needed.insert("plugins.*.grants.fs[]", [("host", "'a'"), ("guest", "'/a'")].as_slice());
    needed.insert("plugins.*.grants.keyvalue", &[("per", "'subject'")]);
    needed.insert("plugins.*.grants.http[]", &[("url", "'https://a.example'")]);
    needed.insert("server", &[("name", "'example.tools/a'"), ("description", "'a'")]);
    needed.insert("server.http.tokens[]", &[("name", "'a'"), ("env", "'A'")]);
    needed.insert(
        "server.http.oauth",
        &[("resource", "'https://a.example'"), ("issuers", "[{ issuer = 'https://b.example' }]")],
    );
    needed.insert("server.http.oauth.issuers[]", &[("issuer", "'https://b.example'")]);
    needed.insert(
        "server.http.oauth.issuers[].introspection",
        &[("client-id", "'a'"), ("client-secret", "{ env = 'A' }")],
    );
    needed.insert("secrets.*.exchange", &[("client-id", "'a'"), ("client-secret", "{ env = 'A' }")]);
    needed.insert("store", &[("url", "'nats://a@b.example/c'")]);
    needed.insert("server.http.nodes", &[("address", "'10.0.0.5:7420'")]);
    needed.insert("rights", &[("default", "'nothing'")]);
    needed.insert("rights.rules[]", &[("plugins", "['a']")]);
    needed.insert("budgets[]", &[("calls", "1")]);
    needed.insert("plugins.*.extra[]", &[("when", "{ token = 'local' }"), ("grants", "{ elicit = true }")]);
    needed.insert("server.http.tls", &[("cert", "'a'"), ("key", "'b'")]);
    let mut parts: Vec<&str> = path.split('.').collect();
    while let Some(part) = parts.pop() {
        let name = part.trim_end_matches("[]");
        if part.ends_with("[]") {
            text = format!("[{text}]");
        }
        let others = needed.get(parts.join(".").as_str()).copied().unwrap_or_default();
        let replaces = |other: &str| other == name || name == "file" && other == "env";
        let others = others.iter().filter(|(other, _)| !replaces(other));
        let others: String = others.map(|(other, value)| format!(", {other} = {value}")).collect();
        let mode = match path {
            "secrets.*.per" if name == "per" => ", file = 's/{subject}'",
            "plugins.*.grants.fs[].total" if name == "total" => ", mode = 'write', per = 'subject'",
            _ if path.ends_with("fs[].quota") && name == "quota" => ", mode = 'write'",
            _ => "",
        };
        let name = if name == "*" { "weather" } else { name };
        text =
            if parts.is_empty() { format!("{name} = {text}") } else { format!("{{ {name} = {text}{others}{mode} }}") };
    }
    text
}

/// The keys that a table has.
fn known_in(table: &str) -> Vec<String> {
    let probe = if table.is_empty() { "zzzzzzzzzz".to_owned() } else { format!("{table}.zzzzzzzzzz") };
    let Err(error) = toml::from_str::<Config>(&file(&probe, "1")) else { return Vec::new() };
    let Some((_, known)) = error.message().split_once("unknown field `zzzzzzzzzz`, expected ") else {
        return Vec::new();
    };
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_named_with_an_example_that_is_valid() {
    for key in FORMAT.keys {
        let mut text = file(key.path, key.example);
        if key.path.ends_with(".secrets[]") {
            text += "\nsecrets = { weather = { env = \"W\" } }";
        }
        if key.path.starts_with("server.http.nodes") {
            text += "\nstore = { url = \"postgres://a@b.example/c\" }";
        }
        if key.path.ends_with(".when.token") {
            text += "\nserver = { http = { tokens = [{ name = \"ci\", env = \"A\" }] } }";
        }
        if key.path.ends_with(".when.issuer") || key.path.starts_with("secrets.*.exchange") {
            let oauth = "{ resource = \"https://a.example\", issuers = [{ issuer = \"https://login.example\" }] }";
            text += &format!("\nserver = {{ http = {{ oauth = {oauth} }} }}");
        }
        // No example of a public key can be right for everyone.
        if key.path != "signatures.keys[]" {
            Config::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }
    // serde lists the keys of each table for one that is unknown.
    let tables: Vec<&str> = [""].into_iter().chain(FORMAT.keys.iter().map(|key| key.path)).collect();
    for table in tables.iter().filter(|table| !table.ends_with('*') || **table == "plugins.*" || **table == "secrets.*")
    {
        if FORMAT.alike.iter().any(|(path, _)| path == table) {
            continue;
        }
        for name in known_in(table) {
            let path = if table.is_empty() { name.clone() } else { format!("{table}.{name}") };
            assert!(FORMAT.keys.iter().any(|key| key.path == path), "not in the format: {path}");
        }
    }
    for (table, like) in FORMAT.alike {
        assert!(!known_in(table).is_empty(), "{table}");
        assert_eq!(known_in(table), known_in(like), "{table}");
    }
    for (path, _) in FORMAT.other_names {
        assert!(FORMAT.keys.iter().any(|key| key.path == *path), "not a key: {path}");
    }
}

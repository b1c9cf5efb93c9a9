//! The words of errors, and that they know every key.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::config::format::FORMAT;

/// The message of an error and its hint.
fn told(text: &str) -> (String, String) {
    let error = Config::parse(text).expect_err(text);
    (error.reason().to_owned(), error.hint.unwrap_or_default())
}

#[test]
fn errors_say_the_place_the_key_what_was_there_and_what_to_write() {
    let grants = |line: &str| format!("[plugins.notes.grants]\n{line}\n");
    let http = |line: &str| format!("[server.http]\n{line}\n");
    let cases = [
        ("server = 5".into(), "line 1, column 10: server: expected a table, found 5", "server = { name = \"wharf\" }"),
        ("[[server]]".into(), "line 1, column 1: server: expected a table, found an array", "server = {"),
        ("[server]\nname = 5".into(), "line 2, column 8: server.name: expected a string, found 5", "name = \"wharf\""),
        (
            "[server]\npage-size = '9'".into(),
            "server.page-size: expected a whole number, found '9'",
            "page-size = 1000",
        ),
        ("[server]\npage-size = -1".into(), "server.page-size: expected a whole number, found -1", "page-size = 1000"),
        (
            "[server]\npage-size = 1.5".into(),
            "server.page-size: expected a whole number, found 1.5",
            "page-size = 1000",
        ),
        (
            "[server]\npage-size = 0".into(),
            "line 2, column 13: server.page-size: must be at least 1",
            "page-size = 1000",
        ),
        (
            "[server]\ndiscovery = 'yes'".into(),
            "server.discovery: expected true or false, found 'yes'",
            "discovery = true",
        ),
        (
            "[server]\ndiscovery = yes".into(),
            "line 2, column 13: server.discovery: a text must be in quotes",
            "discovery = true",
        ),
        (
            "[server]\nfirst-list = 3".into(),
            "server.first-list: expected a duration in quotes, found 3",
            "first-list = \"3s\"",
        ),
        (
            "[server]\nschemas = 'old'".into(),
            "expected \"compatible\" or \"verbatim\", found 'old'",
            "schemas = \"verbatim\"",
        ),
        (
            "[server]\ntrust = { dev = 1 }".into(),
            "server.trust: expected \"dev\", \"default\" or \"strict\", found",
            "\"strict\"",
        ),
        (
            "[server]\ntrust = 5".into(),
            "server.trust: expected \"dev\", \"default\" or \"strict\", found 5",
            "trust = \"strict\"",
        ),
        (
            "[server]\nstate-key = 'k3y'".into(),
            "server.state-key: expected a table with the source",
            "{ env = \"VARIABLE\" }",
        ),
        (
            http("tokens = ['abc']"),
            "server.http.tokens: expected a table with a name and a source, found a string",
            "tokens = [{",
        ),
        (http("tokens = 'abc'"), "server.http.tokens: expected an array of tables, found a string", "tokens = [{ name"),
        (http("tokens = [{ env = 'X' }]"), "server.http.tokens: the key `name` is missing", "name = \"ci\""),
        (
            http("allowed-hosts = 'a'"),
            "server.http.allowed-hosts: expected an array of strings, found 'a'",
            "allowed-hosts = [",
        ),
        (http("tls = true"), "server.http.tls: expected a table, found true", "tls = { cert = \"cert.pem\", key"),
        (http("connections = 0"), "line 2, column 15: server.http.connections: must be more than 0", "omit it"),
        (
            http("allowed-hosts = ['a', 'b@c']"),
            "line 2, column 23: server.http.allowed-hosts: not a host",
            "Host header",
        ),
        (
            "[limits]\nmemory = 'big'".into(),
            "limits.memory: expected a size in quotes or a number of bytes, found 'big'",
            "\"64 MiB\"",
        ),
        (
            "[limits]\nmemory = true".into(),
            "limits.memory: expected a size in quotes or a number of bytes, found true",
            "\"64 MiB\"",
        ),
        ("[limits]\nmemory = -5".into(), "limits.memory: expected a size", "memory = \"64 MiB\""),
        (
            "[limits]\ntimeout = 30".into(),
            "limits.timeout: expected a duration in quotes, found 30",
            "timeout = \"30s\"",
        ),
        ("[limits]\nconcurrency = 4294967296".into(), "limits.concurrency: expected a whole number", "concurrency = 4"),
        (
            "[limits.timeout]\na = 1".into(),
            "limits.timeout: expected a duration in quotes, found a table",
            "timeout = \"30s\"",
        ),
        (
            "[audit]\nenabled = 1".into(),
            "line 2, column 11: audit.enabled: expected true or false, found 1",
            "enabled = true",
        ),
        ("[audit]\nrotate-files = 1".into(), "line 2, column 16: audit.rotate-files: must be at least 2, found 1", "8"),
        ("[audit]\npath = 5".into(), "audit.path: expected a path in quotes, found 5", "path = \"audit.jsonl\""),
        ("[signatures]\nkeys = 'RWa'".into(), "signatures.keys: expected an array of public keys", "keys = ["),
        ("plugins = 5".into(), "plugins: expected a table with one table for each plugin, found 5", "plugins = {"),
        ("[plugins]\nnotes = true".into(), "plugins.notes: expected a table, found true", "notes = { prefix = false }"),
        ("[plugins.notes]\npin = 'abc'".into(), "line 2, column 7: plugins.notes.pin: not a hash", "blake3:"),
        (
            "[plugins.notes]\nnames = 'x'".into(),
            "plugins.notes.names: expected \"wassette\", found 'x'",
            "names = \"wassette\"",
        ),
        (
            "[plugins.notes]\ngrants = ['http']".into(),
            "plugins.notes.grants: expected a table, found an array",
            "grants = { keyvalue",
        ),
        (
            grants("http = 'https://a.example'"),
            "plugins.notes.grants.http: expected an array of URLs",
            "http = [\"https:",
        ),
        (
            grants("http = [{ url = 5 }]"),
            "plugins.notes.grants.http.url: expected a URL in quotes, found 5",
            "url = \"https:",
        ),
        (grants("fs = ['./data']"), "grants.fs: expected a table with host and guest, found './data'", "fs = [{ host"),
        (
            grants("fs = { host = 'a', guest = '/a' }"),
            "grants.fs: expected an array of tables, found {",
            "fs = [{ host",
        ),
        (grants("fs = [{ host = './data' }]"), "grants.fs: the key `guest` is missing", "guest = \"/data\""),
        (
            grants("[[plugins.notes.grants.fs]]\nhost = 'a'"),
            "line 2, column 1: plugins.notes.grants.fs: the key `guest`",
            "guest =",
        ),
        (
            grants("fs = [{ host = 'a', guest = '/a', mode = 7 }]"),
            "fs.mode: expected \"read\" or \"write\", found 7",
            "mode = \"write\"",
        ),
        (grants("env = { A = 5 }"), "plugins.notes.grants.env.A: expected a string, found a whole number", "A = \"C\""),
        (grants("env = 'A=5'"), "plugins.notes.grants.env: expected a table of strings, found a string", "env = { LANG"),
        (
            grants("secrets = true"),
            "grants.secrets: expected an array of names of [secrets], found true",
            "secrets = [",
        ),
        (grants("elicit = 'on'"), "grants.elicit: expected true or false, found 'on'", "elicit = true"),
        (grants("keyvalue = 4"), "grants.keyvalue: expected true, false or a table with a quota, found 4", "quota"),
        (
            "[secrets]\nweather = 'hunter2'".into(),
            "secrets.weather: expected a table with the source of the secret, found a string",
            "weather = { env",
        ),
        (
            "[secrets]\nweather = { env = 5 }".into(),
            "secrets.weather.env: expected the name of an environment variable",
            "env = \"WEATHER_TOKEN\"",
        ),
        (
            "[sandbox]\nos-sandbox = 'no'".into(),
            "sandbox.os-sandbox: expected true or false, found 'no'",
            "os-sandbox = true",
        ),
        ("[server".into(), "line 1, column 8: ", ""),
    ];
    for (text, reason, hint) in &cases {
        let told = told(text);
        assert!(told.0.starts_with("line ") && told.0.contains(reason), "{text}: {told:?}");
        assert!(told.1.contains(hint), "{text}: {told:?}");
        for word in [
            "struct ",
            "expected ident",
            "enum ",
            "unit variant",
            "newtype",
            "parsable",
            "untagged",
            "a map",
            "hunter2",
        ] {
            assert!(!told.0.contains(word) && !told.1.contains(word), "{text}: {told:?}");
        }
    }
}

#[test]
fn other_words_lead_to_the_ones_that_are_meant() {
    for (text, reason, hint) in [
        ("[plugins.a.grants]\nkv = true", "unknown key `kv` in [plugins.a.grants]", "did you mean `keyvalue`?"),
        ("[plugins.a.grants]\nkeyvlaue = true", "unknown key `keyvlaue`", "did you mean `keyvalue`?"),
        ("[plugins.a.grants]\nnetwork = []", "unknown key `network`", "did you mean `http`?"),
        ("[plugins.a.grants]\nzzz = 1", "unknown key `zzz`", "known here: keyvalue, http, secrets"),
        (
            "[plugins.a]\nhttp = []",
            "unknown key `http` in [plugins.a]",
            "write it under [plugins.a.grants]: http = [\"https",
        ),
        ("[plugins.a]\nkv = true", "unknown key `kv`", "write it under [plugins.a.grants]: keyvalue = "),
        ("[plugins.a]\ntimeout = '5s'", "unknown key `timeout`", "write it under [plugins.a.limits]: timeout = "),
        ("[plugin.a]\nprefix = true", "unknown key `plugin`", "did you mean `plugins`?"),
        ("keyvalue = true", "unknown key `keyvalue`", "write it under [plugins.NAME.grants]: keyvalue = "),
        ("timeout = '5s'", "unknown key `timeout`", "write it under [limits]: timeout = \"30s\""),
        (
            "[server.tls]\ncert = 'a'",
            "line 1, column 9: unknown key `tls` in [server]",
            "write it under [server.http]: tls = {",
        ),
        ("[server]\nport = 80", "unknown key `port`", "write it under [server.http]: address = \"127.0.0.1:8080\""),
        (
            "[server.http]\ntokens = [{ name = 'a', value = 'x' }]",
            "unknown key `value` in an entry of tokens",
            "never in this file",
        ),
        ("[secrets]\na = { value = 'x' }", "unknown key `value` in [secrets.a]", "never in this file"),
        (
            "[plugins.a.grants]\nfs = [{ host = 'a', guest = '/a', mode = 'rw' }]",
            "found 'rw'",
            "did you mean mode = \"write\"?",
        ),
        (
            "[plugins.a.grants]\nfs = [{ host = 'a', guest = '/a', mode = 'RO' }]",
            "found 'RO'",
            "did you mean mode = \"read\"?",
        ),
        (
            "[plugins.a.grants]\nfs = [{ path = 'a', guest = '/a' }]",
            "unknown key `path` in an entry of fs",
            "did you mean `host`?",
        ),
        ("[plugins.'text.wasm']", "plugins.text.wasm: ", "write [plugins.text]: "),
        ("[plugins.'A_b.wasm']", "plugins.A_b.wasm: ", "write [plugins.a-b]: "),
    ] {
        let told = told(text);
        assert!(told.0.contains(reason), "{text}: {told:?}");
        assert!(told.1.contains(hint), "{text}: {told:?}");
    }
}

#[test]
fn what_is_written_twice_is_merged_in_the_hint() {
    let twice = |first: &str, second: &str| told(&format!("[plugins.a.grants]\n{first}\nelicit = true\n{second}\n"));
    let (reason, hint) = twice("http = [\"https://a.example\"] # the API", "http = [ \"https://b.example\", ]");
    assert_eq!(reason, "line 4, column 1: plugins.a.grants.http is written twice, first in line 2");
    assert_eq!(hint, "replace both by one: http = [\"https://a.example\", \"https://b.example\"]");
    let merged = "[plugins.a.grants]\nelicit = true\nhttp = [\"https://a.example\", \"https://b.example\"]\n";
    Config::parse(merged).expect("the hint's line is valid");
    let limits = |first: &str| told(&format!("[plugins.a]\nlimits = {first}\nlimits = {{ cpu = \"1s\" }}\n")).1;
    assert_eq!(limits("{ memory = \"8MiB\" }"), "replace both by one: limits = { memory = \"8MiB\", cpu = \"1s\" }");
    assert_eq!(limits("{}"), "replace both by one: limits = { cpu = \"1s\" }");
    assert_eq!(twice("keyvalue = true", "keyvalue = false").1, "remove one of them, or merge what they have into one");
    assert!(twice("http = [\n]", "http = []").1.starts_with("remove one of them"));
    let (reason, hint) = twice("keyvalue = true", "[plugins.b.grants]\n[plugins.a.grants] # again");
    assert_eq!(reason, "line 5, column 12: [plugins.a.grants] is written twice, first in line 1");
    assert!(hint.starts_with("move its keys under the first"), "{hint}");
}

/// It may be a secret, or be written where a secret is meant.
#[test]
fn errors_repeat_no_value_that_may_be_a_secret() {
    for text in [
        "[secrets]\nweather = [\"S3CRET\"]\nweather = [\"S3CRET\"]\n",
        "[server]\nstate-key = { value = \"S3CRET\" }\nstate-key = { value = \"S3CRET\" }\n",
        "[server.http]\ntokens = [{ token = \"S3CRET\" }]\ntokens = [{ token = \"S3CRET\" }]\n",
        "[plugins.a.grants]\nenv = { A = \"S3CRET\" }\nenv = { A = \"S3CRET\" }\n",
        "[plugins.a.grants]\nenv = \"KEY=S3CRET\"\n",
        "[plugins.a.grants]\nenv = { A = [\"S3CRET\"] }\n",
        "[plugins.a.grants]\nconfig = [\"S3CRET\"]\n",
    ] {
        let told = told(text);
        assert!(!format!("{told:?}").contains("S3CRET"), "{text}: {told:?}");
    }
}

#[test]
fn what_a_shell_would_replace_is_refused() {
    let secrets = "[secrets]\nweather = { env = 'W' }\n[plugins.a.grants]\n";
    for (grant, reason) in [
        ("env = { KEY = 'x $weather' }", "line 4, column 15: plugins.a.grants.env.KEY: \"$weather\" is a text"),
        (
            "http = [{ url = 'https://a.example', headers = { K = '$weather' } }]",
            "plugins.a.grants.http: \"$weather\" is a text",
        ),
    ] {
        let (said, hint) = told(&format!("{secrets}{grant}\n"));
        assert!(said.contains(reason), "{said}");
        assert_eq!(hint, "for the secret write ${weather}; for the text, give the secret another name");
    }
    for literal in ["$", "$HOME", "$weather2", "$$", "5 $", "${weather} $x"] {
        Config::parse(&format!("{secrets}env = {{ KEY = '{literal}' }}\n")).expect(literal);
    }
    for grant in [
        "env = { KEY = '${weahter}' }",
        "secrets = ['weahter']",
        "http = [{ url = 'https://a.example', headers = { K = '${weahter}' } }]",
    ] {
        let (said, hint) = told(&format!("{secrets}{grant}\n"));
        assert!(said.contains("line 4, column ") && said.contains("there is no such secret: \"weahter\""), "{said}");
        assert!(hint.starts_with("did you mean weather? Otherwise define it: weahter = "), "{hint}");
    }

    let home = std::env::var("HOME").expect("a home folder");
    let folder = |host: &str| format!("[plugins.a.grants]\nfs = [{{ host = '{host}', guest = '/a' }}]\n");
    for (text, key) in [
        (folder("$HOME/data"), "plugins.a.grants.fs.host"),
        (folder("${HOME}/data"), "plugins.a.grants.fs.host"),
        ("[audit]\npath = '$HOME/data'\n".into(), "audit.path"),
        ("[secrets]\na = { file = '$HOME/data' }\n".into(), "secrets.a.file"),
        ("[server.http]\ntls = { cert = '$HOME/data', key = 'k' }\n".into(), "server.http.tls.cert"),
        ("[server.http]\ntokens = [{ name = 'a', file = '$HOME/data' }]\n".into(), "server.http.tokens.file"),
        ("[server]\nstate-key = { file = '$HOME/data' }\n".into(), "server.state-key.file"),
    ] {
        let said = told(&text).0;
        assert!(said.contains(&format!("{key}: a variable is not replaced in a path")), "{said}");
        assert!(said.contains(&format!("write \"{home}/data\" ")), "{said}");
        Config::parse(&text.replace("${HOME}", &home).replace("$HOME", &home)).expect("the hint is valid");
    }
    assert!(told(&folder("$NOT_SET_HERE/data")).0.contains("write the absolute path"));
    assert!(told(&folder("~bob/data")).0.contains("another user's home folder is not replaced"));
    for literal in ["./$HOME/data", "a/$HOME", "~/data", "~", "./~bob"] {
        Config::parse(&folder(literal)).expect(literal);
    }
    let config = Config::parse("[server.http]\ntls = { cert = '~/c.pem', key = 'k' }\n").expect("valid");
    let tls = config.server.http.tls.as_ref().expect("set");
    assert_eq!(config.resolve(&tls.cert), etcetera::home_dir().expect("a home folder").join("c.pem"));
}

/// A file in which only that key is set, with `name` for each name.
fn file(path: &str, value: &str) -> String {
    let mut text = value.to_owned();
    let mut needed = BTreeMap::new();
    needed.insert("plugins.*.grants.fs[]", [("host", "'a'"), ("guest", "'/a'")].as_slice());
    needed.insert("plugins.*.grants.http[]", &[("url", "'https://a.example'")]);
    needed.insert("server.http.tokens[]", &[("name", "'a'"), ("env", "'A'")]);
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
        let mode = if path.ends_with("fs[].quota") && name == "quota" { ", mode = 'write'" } else { "" };
        let name = if name == "*" { "weather" } else { name };
        text =
            if parts.is_empty() { format!("{name} = {text}") } else { format!("{{ {name} = {text}{others}{mode} }}") };
    }
    text
}

#[test]
fn every_key_is_named_with_an_example_that_is_valid() {
    for key in FORMAT.keys {
        let mut text = file(key.path, key.example);
        if key.path.ends_with(".secrets[]") {
            text += "\nsecrets = { weather = { env = \"W\" } }";
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
        let probe = if table.is_empty() { "zzzzzzzzzz".to_owned() } else { format!("{table}.zzzzzzzzzz") };
        let Err(error) = toml::from_str::<Config>(&file(&probe, "1")) else { continue };
        let Some((_, known)) = error.message().split_once("unknown field `zzzzzzzzzz`, expected ") else { continue };
        for name in known.split('`').skip(1).step_by(2) {
            let path = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
            assert!(FORMAT.keys.iter().any(|key| key.path == path), "not in the format: {path}");
        }
    }
    for (path, _) in FORMAT.other_names {
        assert!(FORMAT.keys.iter().any(|key| key.path == *path), "not a key: {path}");
    }
}

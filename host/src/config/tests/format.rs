//! The words of errors.

use crate::config::Config;

/// The message of an error and its hint.
fn error_and_hint(text: &str) -> (String, String) {
    let error = Config::parse(text).expect_err(text);
    (error.reason(), error.hint.unwrap_or_default())
}

#[test]
fn errors_say_the_place_the_key_what_was_there_and_what_to_write() {
    let grants = |line: &str| format!("[plugins.notes.grants]\n{line}\n");
    let http = |line: &str| format!("[server.http]\n{line}\n");
    let rules = |lines: &str| format!("[rights]\ndefault = 'nothing'\n[[rights.rules]]\n{lines}\n");
    let cases = [
        ("server = 5".into(), "line 1, column 10: server: expected a table, found 5", "server = { name = \"wharf\" }"),
        ("[[server]]".into(), "line 1, column 1: server: expected a table, found an array", "server = {"),
        ("[server]\nname = 5".into(), "line 2, column 8: server.name: expected a string, found 5", "name = \"5\""),
        ("[server]\npage-size = '9'".into(), "server.page-size: expected a whole number, found '9'", "page-size = 9"),
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
            "limits.memory: expected a size with its unit in quotes, or a number of bytes, found 'big'",
            "\"64 MiB\"",
        ),
        (
            "[limits]\nmemory = true".into(),
            "limits.memory: expected a size with its unit in quotes, or a number of bytes, found true",
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
        (
            "[plugins.notes]\npin = 'abc'".into(),
            "line 2, column 7: plugins.notes.pin: not a hash",
            "wharf status --json",
        ),
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
            "http = ['https://a.example']",
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
        (grants("env = { A = 5 }"), "plugins.notes.grants.env.A: expected a string, found a whole number", "A = \"…\""),
        (
            grants("env = 'A=5'"),
            "plugins.notes.grants.env: expected a table of strings, found a string",
            "env = { LANG",
        ),
        (
            grants("secrets = true"),
            "grants.secrets: expected an array of names of [secrets], found true",
            "secrets = [",
        ),
        (grants("elicit = 'on'"), "grants.elicit: expected true or false, found 'on'", "elicit = true"),
        (
            grants("keyvalue = 4"),
            "grants.keyvalue: expected true, false or a table with quota, per and total, found 4",
            "quota",
        ),
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
            "os-sandbox = false",
        ),
        (
            "[rights.rules]\nplugins = ['a']".into(),
            "rights.rules: expected an array of tables, found a table",
            "[[rights.rules]]",
        ),
        ("[budgets]\ncalls = 1".into(), "budgets: expected an array of tables, found a table", "[[budgets]]"),
        (rules("allow = ['a']"), "unknown key `allow` in an entry of rules", "a rule allows what it names: plugins ="),
        (
            rules("plugins = ['a']\nwhen = { claims = { org.id = 'a' } }"),
            "when.claims.org: expected",
            "\"org.NAME\" = \"acme\"",
        ),
        ("[rights]\nscopes = { a:b = ['c'] }".into(), "rights.scopes.a:b: invalid unquoted key", "\"a:b\" = ["),
        ("[[budgets]]\nname = 'a'".into(), "budgets: limits nothing", "calls = 60"),
        ("[[budgets]]\ncalls = 0".into(), "budgets.calls: must not be 0", "[rights]"),
        ("[[budgets]]\ncalls = 1\nwindow = '0s'".into(), "budgets.window: must be from 1s", "\"60s\""),
        ("[[budgets]]\ncalls = 1\nper = 'group'".into(), "budgets.per: cannot have \"group\"", "per = []"),
        ("[[budgets]]\ncalls = 1\nper = ['user']".into(), "budgets.per: cannot have \"user\"", "\"subject\""),
        (
            "[[budgets]]\ncalls = 1\n[[budgets]]\nname = 'budget 1'\ncalls = 1".into(),
            "two budgets have the name \"budget 1\"",
            "name of its own",
        ),
        ("[[budgets]]\nrate = 1".into(), "unknown key `rate` in an entry of budgets", "calls"),
        ("[rights]\n[[rights.rules]]\nplugins = ['a']".into(), "rights: needs a default", "default = \"nothing\""),
        (rules("tools = ['notes_delete']"), "has no plugin: \"notes_delete\"", "\"notes/delete\""),
        (rules("tools = ['text']"), "has no plugin", "\"text/*\""),
        (rules("plugins = ['Text.wasm']"), "no plugin has such a name", "\"text\""),
        (rules("when = { issuer = 'https://a.example' }\nplugins = ['*']"), "there is no such issuer", "no issuers"),
        (rules("when = { scope = '' }\nplugins = ['*']"), "scope: must not be empty", "omit it"),
        (rules("when = { group = 'a' }"), "names nothing", "plugins = ["),
        (rules("ask = 'always'\ndeny = true\nplugins = ['a']"), "ask: must not be in a rule that denies", "omit ask"),
        (rules("ask = 'first'\nresources = ['a://*']"), "ask: must be in a rule that names tools", "plugins or tools"),
        (rules("ask = true\nplugins = ['a']"), "ask: expected \"always\", \"first\" or \"never\"", "ask = \"always\""),
        ("[rights]\nask-expires = '1ms'".into(), "rights.ask-expires: must be between a second", "\"8h\""),
        ("[rights]\nask-expires = '400days'".into(), "rights.ask-expires: must be between a second", "\"8h\""),
        ("[rights]\napprover = 'me'".into(), "rights.approver: expected \"user\" or \"operator\"", "\"operator\""),
        ("[server".into(), "line 1, column 8: ", ""),
    ];
    for (text, reason, hint) in &cases {
        let error_and_hint = error_and_hint(text);
        assert!(
            error_and_hint.0.starts_with("line ") && error_and_hint.0.contains(reason),
            "{text}: {error_and_hint:?}"
        );
        assert!(error_and_hint.1.contains(hint), "{text}: {error_and_hint:?}");
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
            assert!(!error_and_hint.0.contains(word) && !error_and_hint.1.contains(word), "{text}: {error_and_hint:?}");
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
        let error_and_hint = error_and_hint(text);
        assert!(error_and_hint.0.contains(reason), "{text}: {error_and_hint:?}");
        assert!(error_and_hint.1.contains(hint), "{text}: {error_and_hint:?}");
    }
}

#[test]
fn what_is_written_twice_is_merged_in_the_hint() {
    let twice =
        |first: &str, second: &str| error_and_hint(&format!("[plugins.a.grants]\n{first}\nelicit = true\n{second}\n"));
    let (reason, hint) = twice("http = [\"https://a.example\"] # the API", "http = [ \"https://b.example\", ]");
    assert_eq!(reason, "line 4, column 1: plugins.a.grants.http is written twice, first in line 2");
    assert_eq!(hint, "replace both by one: http = [\"https://a.example\", \"https://b.example\"]");
    let merged = "[plugins.a.grants]\nelicit = true\nhttp = [\"https://a.example\", \"https://b.example\"]\n";
    Config::parse(merged).expect("the hint's line is valid");
    let limits =
        |first: &str| error_and_hint(&format!("[plugins.a]\nlimits = {first}\nlimits = {{ cpu = \"1s\" }}\n")).1;
    assert_eq!(limits("{ memory = \"8MiB\" }"), "replace both by one: limits = { memory = \"8MiB\", cpu = \"1s\" }");
    assert_eq!(limits("{}"), "replace both by one: limits = { cpu = \"1s\" }");
    assert_eq!(limits("{ cpu = \"2s\" }"), "remove one of them, or merge what they have into one");
    assert_eq!(twice("keyvalue = true", "keyvalue = false").1, "remove one of them, or merge what they have into one");
    assert!(twice("http = [\n]", "http = []").1.starts_with("remove one of them"));
    let (reason, hint) = twice("keyvalue = true", "[plugins.b.grants]\n[plugins.a.grants] # again");
    assert_eq!(reason, "line 5, column 12: [plugins.a.grants] is written twice, first in line 1");
    assert!(hint.starts_with("move its keys under the first"), "{hint}");
}

/// Each hint is a line to copy, made of what was written.
#[test]
fn a_hint_that_is_followed_makes_the_file_valid() {
    for (table, wrong, hint) in [
        ("plugins.a.grants", "keyvalue = \"true\"", "write it without quotes: keyvalue = true"),
        ("plugins.a.grants", "keyvalue = 'off'", "write it without quotes: keyvalue = false"),
        ("plugins.a.grants", "elicit = 0", "write it like this: elicit = false"),
        ("sandbox", "os-sandbox = no", "write it like this: os-sandbox = false"),
        ("server", "discovery = True", "write it like this: discovery = true"),
        ("plugins.a.grants", "env = { A = 5 }", "write it in quotes: A = \"…\""),
        ("plugins.a.grants", "config = { A = true }", "write it in quotes: A = \"true\""),
        ("server", "name = 5.5", "write it in quotes: name = \"5.5\""),
        ("server", "name = my server # ours", "write it in quotes: name = \"my server\""),
        ("server.http", "address = 127.0.0.1:80", "write it in quotes: address = \"127.0.0.1:80\""),
        ("limits", "timeout = 5s", "write it in quotes: timeout = \"5s\""),
        ("plugins.a.grants", "http = [https://a.example]", "write it in quotes: \"https://a.example\""),
        ("server", "page-size = \"25\"", "write it without quotes: page-size = 25"),
        ("server.http", "connections = '7'", "write it without quotes: connections = 7"),
        ("server.http", "address = \"8080\"", "write \"127.0.0.1:8080\""),
        ("server.http", "address = ':9'", "write \"127.0.0.1:9\""),
        ("server.http", "allowed-hosts = 'a.example'", "write it in brackets: allowed-hosts = ['a.example']"),
        ("limits", "memory = \"64\"", "write it with a unit: memory = \"64 MiB\""),
        ("limits", "memory = 64", "write it with a unit: memory = \"64 MiB\""),
        ("plugins.a.limits", "output = '5'", "write it with a unit: output = \"5 MiB\""),
        ("limits", "log = \"32\"", "write it with a unit: log = \"32 KiB\""),
        ("audit", "rotate-size = \"64\"", "write it with a unit: rotate-size = \"64 MiB\""),
        ("limits", "timeout = \"5\"", "write it with a unit: timeout = \"5s\""),
        ("limits", "cpu = 7", "write it with a unit: cpu = \"7s\""),
        ("plugins.a.grants", "http = 'https://a.example'", "write it in brackets: http = ['https://a.example']"),
        (
            "plugins.a.grants",
            "fs = { host = 'a', guest = '/a' }",
            "write it in brackets: fs = [{ host = 'a', guest = '/a' }]",
        ),
    ] {
        let error_and_hint = error_and_hint(&format!("[{table}]\n{wrong}\n"));
        assert!(error_and_hint.0.starts_with("line 2, column "), "{wrong}: {error_and_hint:?}");
        assert_eq!(error_and_hint.1, hint, "{wrong}: {error_and_hint:?}");
        let (_, written) = hint.rsplit_once(": ").unwrap_or(("", hint));
        let key = wrong.split(" = ").next().expect("a key");
        let line = match hint.strip_prefix("write \"") {
            None if hint.contains("quotes: \"https") => "http = [\"https://a.example\"]".to_owned(),
            Some(value) => format!("{key} = \"{value}"),
            None if written.starts_with("A = ") => format!("{key} = {{ {written} }}"),
            None => written.to_owned(),
        };
        let line =
            if hint.starts_with("write it in brackets") { &hint["write it in brackets: ".len()..] } else { &line };
        Config::parse(&format!("[{table}]\n{line}\n")).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    for (entry, reason, hint) in [
        (
            "methods = ['post', \"GET\"]",
            "not a method, such as \"POST\": \"post\"",
            "write methods = [\"POST\", \"GET\"]",
        ),
        ("methods = ['*']", "not a method", "write methods = [\"POST\"]"),
        ("methods = []", "at least one is required", "write methods = [\"POST\"]"),
        (
            "headers = { Host = 'x' }",
            "not a header that can be set",
            "write headers = { Accept = \"application/json\" }",
        ),
    ] {
        let file = |options: &str| format!("[plugins.a.grants]\nhttp = [{{ url = 'https://a.example', {options} }}]\n");
        let error_and_hint = error_and_hint(&file(entry));
        assert!(
            error_and_hint.0.contains(reason) && error_and_hint.0.starts_with("line 2, column "),
            "{entry}: {error_and_hint:?}"
        );
        assert_eq!(error_and_hint.1, hint);
        Config::parse(&file(hint.trim_start_matches("write "))).expect(hint);
    }
}

#[test]
fn errors_are_short_however_long_what_they_repeat_is() {
    let long = "x\\u001b".repeat(100_000);
    for text in [
        format!("\"{long}\" = 1\n"),
        format!("[limits]\n\"{long}\" = 1\n"),
        format!("[plugins.\"{long}\"]\nzzz = 1\n"),
        format!("[plugins.\"{long}\"]\n"),
        format!("[plugins.\"{long}.wasm\"]\n"),
        format!("[server]\ntrust = \"{long}\"\n"),
        format!("[server]\nname = [\"{long}\"]\n"),
        format!("[server.http]\naddress = \"{long}\"\n"),
        format!("[server.http]\nallowed-hosts = [\"{long}@\"]\n"),
        format!("[server.http]\ntokens = [{{ name = \"{long}\" }}]\n"),
        format!("[plugins.a]\npin = \"{long}\"\n"),
        format!("[plugins.a.grants]\nhttp = [\"{long}\"]\n"),
        format!("[plugins.a.grants]\nhttp = [{{ url = \"https://a.example\", methods = [\"{long}\"] }}]\n"),
        format!("[plugins.a.grants]\nfs = [{{ host = \"a\", guest = \"{long}\" }}]\n"),
        format!("[plugins.a.grants]\nfs = [{{ host = \"$A/{long}\", guest = \"/a\" }}]\n"),
        format!("[plugins.a.grants]\nsecrets = [\"{long}\"]\n"),
        format!("[plugins.a.grants]\nenv = {{ \"{long}=\" = \"\" }}\n"),
        format!("[secrets]\n\"{long}\" = {{ env = \"A\" }}\n"),
        format!("[signatures]\nkeys = [\"{long}\"]\n"),
        format!("{long}\n"),
        format!("a = 1\n\"{long}\" = 1\n\"{long}\" = 1\n"),
    ] {
        let (reason, hint) = error_and_hint(&text);
        let start = text.get(..40).expect("ASCII");
        assert!(reason.starts_with("line ") && reason.len() < 700 && hint.len() < 700, "{start}: {reason} {hint}");
    }
    let secret = format!("[secrets]\na = {{ env = \"{}\" }}\n", "A".repeat(100_000));
    let config = Config::parse(&secret).expect("valid");
    assert!(config.secret("a").expect_err("not set").why.len() < 700);
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
        let error_and_hint = error_and_hint(text);
        assert!(!format!("{error_and_hint:?}").contains("S3CRET"), "{text}: {error_and_hint:?}");
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
        let (reported, hint) = error_and_hint(&format!("{secrets}{grant}\n"));
        assert!(reported.contains(reason), "{reported}");
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
        let (reported, hint) = error_and_hint(&format!("{secrets}{grant}\n"));
        assert!(
            reported.contains("line 4, column ") && reported.contains("there is no such secret: \"weahter\""),
            "{reported}"
        );
        assert!(hint.starts_with("did you mean weather? Otherwise define it: weahter = "), "{hint}");
    }

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
        let (reported, hint) = error_and_hint(&text);
        assert!(
            reported.ends_with("/data\"") && reported.contains(&format!("{key}: a variable is not replaced in a path")),
            "{reported}"
        );
        assert_eq!(hint, "write \"~/data\"");
        Config::parse(&text.replace("${HOME}", "~").replace("$HOME", "~")).expect("the hint is valid");
    }
    assert_eq!(error_and_hint(&folder("$NOT_SET_HERE/data")).1, "write the absolute path, or ~/ for your home folder");
    assert!(error_and_hint(&folder("~bob/data")).0.contains("another user's home folder is not replaced"));
    for literal in ["./$HOME/data", "a/$HOME", "~/data", "~", "./~bob"] {
        Config::parse(&folder(literal)).expect(literal);
    }
    let config = Config::parse("[server.http]\ntls = { cert = '~/c.pem', key = 'k' }\n").expect("valid");
    let tls = config.server.http.tls.as_ref().expect("set");
    assert_eq!(config.resolve(&tls.cert), etcetera::home_dir().expect("a home folder").join("c.pem"));
}

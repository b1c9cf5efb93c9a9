mod extra;
mod format;
mod keys;
mod nodes;
mod oauth;
mod personal;
mod server_card;

use std::time::Duration;

use super::Config;
use crate::plugin::{FolderGrant, FolderMode, KeyvalueGrant, Limits, PluginId};

fn error(text: &str) -> super::ConfigError {
    Config::parse(text).expect_err("this configuration is wrong")
}

#[test]
fn defaults_read_back_as_the_defaults() {
    let config = Config::parse(&Config::defaults()).expect("the defaults are valid");
    let id = PluginId::parse("anything").expect("a valid id");
    assert_eq!(config.limits(&id), Limits::default());
    assert!(config.prefix(&id));
}

#[test]
fn plugin_settings_override_global_ones() {
    let config = Config::parse(
        "[limits]\ntimeout = '5s'\nmemory = '16MiB'\n[plugins.slow]\nprefix = false\n[plugins.slow.limits]\ntimeout = '1m 30s'\n",
    )
    .expect("valid");
    let slow = PluginId::parse("slow").expect("a valid id");
    let limits = config.limits(&slow);
    assert_eq!((limits.timeout, limits.memory, config.prefix(&slow)), (Duration::from_secs(90), 16 << 20, false));
    let other = PluginId::parse("other").expect("a valid id");
    assert_eq!((config.limits(&other).timeout, config.prefix(&other)), (Duration::from_secs(5), true));
}

#[test]
fn an_unknown_key_is_an_error_with_its_position_and_a_suggestion() {
    let error = error("[limits]\ntimeout = '5s'\nmemroy = '1MiB'\n");
    assert_eq!(error.to_string(), "read the configuration: line 3, column 1: unknown key `memroy` in [limits]");
    assert_eq!(error.hint.as_deref(), Some("did you mean `memory`?"));
}

#[test]
fn wrong_values_are_errors() {
    assert!(
        error("[limits]\ntimeout = 'soon'")
            .to_string()
            .contains("limits.timeout: expected a duration in quotes, found 'soon'")
    );
    assert!(error("[server]\npage-size = 0").to_string().contains("at least 1"));
    assert!(error("[plugins.Bad_Name]").to_string().contains("plugins.Bad_Name: "));
}

#[test]
fn a_zero_limit_is_an_error_with_its_position() {
    for table in ["limits", "plugins.slow.limits"] {
        for nothing in ["timeout = '0s'", "cpu = '0ms'", "memory = 0", "output = '0 KiB'", "concurrency = 0"] {
            let error = error(&format!("[{table}]\nlog = '1KiB'\n{nothing}\n")).to_string();
            let column = nothing.find("= ").expect("a value") + 3;
            let key = nothing.split(' ').next().expect("a key");
            let place =
                format!("read the configuration: line 3, column {column}: {table}.{key}: with 0 no call could run");
            assert!(error.starts_with(&place), "{table} {nothing}: {error}");
        }
    }
    // Without a queue and without a log.
    let config = Config::parse("[limits]\nqueue = 0\nlog = 0\nconcurrency = 1\ntimeout = '1ms'\noutput = 1\n");
    let limits = config.expect("valid").limits(&PluginId::parse("slow").expect("a valid id"));
    assert_eq!((limits.queue, limits.log, limits.concurrency, limits.output), (0, 0, 1, 1));
}

#[test]
fn a_limit_over_its_maximum_is_an_error() {
    let error = |limit: &str| error(&format!("[limits]\n{limit}\n")).to_string();
    let memory = error("memory = '1 TiB'");
    assert!(memory.contains("line 2") && memory.contains("1.0 TiB is over the maximum of 256.0 MiB"), "{memory}");
    assert!(error("concurrency = 129").contains("129 is over the maximum of 128"));
    assert!(Config::parse("[limits]\nmemory = '256 MiB'\nconcurrency = 128\n").is_ok());
}

#[test]
fn only_regular_files_are_read() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    let error = Config::read(&at("fifo")).expect_err("a FIFO").to_string();
    assert_eq!(error, format!("read the configuration: {}: it is a FIFO, not a regular file", at("fifo").display()));
    let large = std::fs::File::create(at("large")).expect("a file");
    large.set_len(super::MAX_SIZE).expect("a sparse file");
    assert!(Config::read(&at("large")).expect_err("zeros").to_string().contains("line 1"), "it is read");
    large.set_len(super::MAX_SIZE + 1).expect("a sparse file");
    assert!(Config::read(&at("large")).expect_err("too much").to_string().contains("limit of 1048576 bytes"));
    let text = "[secrets]\nq = { file = 'fifo' }\nr = { file = 'link' }\n                [server]\nstate-key = { file = 'large' }\nhttp.tokens = [{ name = 'me', file = 'fifo' }]\n";
    std::fs::write(at("wharf.toml"), text).expect("the configuration");
    std::fs::write(at("target"), "secret").expect("a file");
    std::os::unix::fs::symlink("target", at("link")).expect("a link");
    let config = Config::read(&at("wharf.toml")).expect("valid");
    let fifo = format!("cannot be read: it is a FIFO, not a regular file: {}", at("fifo").display());
    assert_eq!(config.secret("q").map_err(|missing| missing.why), Err(fifo.clone()));
    assert_eq!(config.secret("r").as_deref(), Ok("secret"));
    let token = config.server.http.tokens[0].read(&config).expect_err("a FIFO").to_string();
    assert!(token.ends_with(&fifo), "{token}");
    assert!(
        config.state_key().expect_err("too much").to_string().contains("it is larger than the limit of 65536 bytes")
    );
}

#[test]
fn grants_are_explicit_and_for_one_plugin() {
    let granted = |grants: &str| {
        let config = Config::parse(&format!("[plugins.notes.grants]\n{grants}\n")).expect("valid");
        config.grants(&PluginId::parse("notes").expect("a valid id")).keyvalue.map(|grant| grant.quota)
    };
    assert_eq!(granted("keyvalue = true"), Some(KeyvalueGrant::QUOTA));
    assert_eq!(granted("keyvalue = { quota = '4MiB' }"), Some(4 << 20));
    assert_eq!(granted("keyvalue = {}"), Some(KeyvalueGrant::QUOTA));
    let per = |grants: &str| {
        let config = Config::parse(&format!("[plugins.notes.grants]\n{grants}\n")).expect("valid");
        config.grants(&PluginId::parse("notes").expect("a valid id")).keyvalue.and_then(|grant| grant.per_subject)
    };
    assert_eq!(per("keyvalue = { per = 'subject' }"), Some(KeyvalueGrant::TOTAL));
    assert_eq!(per("keyvalue = { per = 'subject', total = '2MiB' }"), Some(2 << 20));
    assert_eq!((per("keyvalue = true"), per("keyvalue = { quota = '4MiB' }")), (None, None));
    assert_eq!((granted("keyvalue = false"), granted("")), (None, None));
    let other = Config::parse("[plugins.notes.grants]\nkeyvalue = true\n").expect("valid");
    assert_eq!(other.grants(&PluginId::parse("other").expect("a valid id")).keyvalue, None);
}

#[test]
fn an_invalid_grant_is_an_error() {
    let unknown = error("[plugins.notes.grants]\nkeyvlaue = true\n");
    assert!(
        unknown.to_string().contains("line 2, column 1: unknown key `keyvlaue` in [plugins.notes.grants]"),
        "{unknown}"
    );
    for wrong in ["keyvalue = 'much'", "keyvalue = { size = '1MiB' }", "keyvalue = { quota = 'much' }"] {
        let error = error(&format!("[plugins.notes.grants]\n{wrong}\n"));
        assert!(
            error.to_string().contains("expected true, false or a table with quota, per and total, found "),
            "{error}"
        );
        assert_eq!(
            error.hint.as_deref(),
            Some("write it like this: keyvalue = { per = \"subject\", quota = \"4 MiB\" }")
        );
    }
}

#[test]
fn folders_are_read_only_by_default() {
    let text = "[plugins.files.grants]\nfs = [{ host = './data', guest = '/data' }, \
                { host = '/not/there', guest = '/', mode = 'write' }, { host = 'a', guest = '/a/b', mode = 'write', quota = '1MiB' }]";
    let config = Config { file: Some("/etc/wharf/wharf.toml".into()), ..Config::parse(text).expect("valid") };
    let granted = |host: &str, guest: &str, mode| FolderGrant {
        host: host.into(),
        guest: guest.into(),
        mode,
        per_subject: None,
        found: None,
    };
    let expected = [
        granted("/etc/wharf/./data", "/data", FolderMode::Read),
        granted("/not/there", "/", FolderMode::Write { quota: FolderGrant::QUOTA }),
        granted("/etc/wharf/a", "/a/b", FolderMode::Write { quota: 1 << 20 }),
    ];
    assert_eq!(config.grants(&PluginId::parse("files").expect("a valid id")).folders, expected);
    assert_eq!(config.grants(&PluginId::parse("other").expect("a valid id")).folders, []);
}

#[test]
fn an_invalid_folder_grant_is_an_error() {
    let wrong = |entries: &str| error(&format!("[plugins.files.grants]\nfs = [{entries}]\n")).to_string();
    for guest in ["data", "", "/data/", "/a/../b", "/./a", "//a"] {
        let error = wrong(&format!("{{ host = 'x', guest = '{guest}' }}"));
        assert!(
            error.contains("line 2, column ")
                && error.contains("plugins.files.grants.fs.guest: must be an absolute path"),
            "{error}"
        );
    }
    let twice = wrong("{ host = 'x', guest = '/a' }, { host = 'y', guest = '/a' }");
    assert!(twice.contains("two folders have the same path in the plugin: \"/a\""), "{twice}");
    assert!(wrong("{ host = '', guest = '/a' }").contains("host: must be the path of a folder"));
    assert!(wrong("{ host = 'x', guest = '/a', quota = '1MiB' }").contains("a folder that is only read has no quota"));
    assert!(wrong("{ host = 'x', guest = '/a', mode = 'rw' }").contains("expected \"read\" or \"write\", found 'rw'"));
    assert!(
        wrong("{ host = 'x', guest = '/a', readonly = true }").contains("unknown key `readonly` in an entry of fs")
    );
    assert!(error("[plugins.x.grants.env]\n'A=B' = 'c'\n").to_string().contains("not a valid variable name: \"A=B\""));
}

#[test]
fn grants_name_their_place_in_the_file() {
    let config = Config { file: Some("/etc/wharf.toml".into()), ..Config::default() };
    let place = config.grants(&PluginId::parse("notes").expect("a valid id")).place;
    assert_eq!(place, "under `[plugins.notes.grants]` in /etc/wharf.toml");
}

#[test]
fn http_settings_are_read() {
    let config = Config::parse(
        "[server.http]\naddress = '127.0.0.1:8080'\nallowed-hosts = ['tools.example:8443']\n\
         allowed-origins = ['https://app.example', 'vscode-webview://x']\nheader-timeout = '5s'\n\
         tokens = [{ name = 'ci', env = 'WHARF_TOKEN' }, { name = 'me', file = 'token' }]\n\
         tls = { cert = 'cert.pem', key = '/etc/key.pem' }\n",
    )
    .expect("valid");
    let http = &config.server.http;
    assert_eq!((http.header_timeout, http.connections), (Duration::from_secs(5), 512));
    let config = Config { file: Some("/etc/wharf/wharf.toml".into()), ..config.clone() };
    let tls = http.tls.as_ref().expect("set");
    assert_eq!(config.resolve(&tls.cert).to_str(), Some("/etc/wharf/cert.pem"));
    assert_eq!(config.resolve(&tls.key).to_str(), Some("/etc/key.pem"));
}

#[test]
fn invalid_http_settings_are_errors() {
    for wrong in [
        "allowed-hosts = ['https://tools.example']",
        "allowed-hosts = ['user@tools.example']",
        "allowed-hosts = ['']",
        "allowed-origins = ['app.example']",
        "allowed-origins = ['https://app.example/']",
        "allowed-origins = ['*']",
        "tokens = [{ name = 'ci' }]",
        "tokens = [{ name = '', env = 'X' }]",
        "tokens = [{ name = 'ci', env = 'X', file = 'y' }]",
        "tokens = [{ name = 'ci', token = '0123456789abcdef' }]",
        "tls = { cert = 'cert.pem' }",
        "connections = 0",
        "body-timeout = '0s'",
    ] {
        error(&format!("[server.http]\n{wrong}\n"));
    }
}

#[test]
fn a_token_is_read_from_its_file_and_has_a_minimum_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wharf.toml");
    std::fs::write(&file, "[server.http]\ntokens = [{ name = 'me', file = 'token' }]\n").expect("the configuration");
    let config = Config::read(&file).expect("valid");
    let read = || config.server.http.tokens[0].read(&config).map_err(|error| error.to_string());
    assert!(read().expect_err("no such file").contains("the token of \"me\" cannot be read: No such file"));
    for (wrong, why) in [
        ("", "at least 16"),
        ("\n", "at least 16"),
        ("short", "at least 16"),
        ("two words that are long enough", "contains a blank"),
    ] {
        std::fs::write(folder.path().join("token"), wrong).expect("a file");
        assert!(read().expect_err("no token").contains(why), "{wrong:?}");
    }
    std::fs::write(folder.path().join("token"), "0123456789abcdef\n").expect("a file");
    assert_eq!(read().as_deref(), Ok("0123456789abcdef"));
}

#[test]
fn a_state_key_is_a_secret_of_32_characters_or_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wharf.toml");
    std::fs::write(&file, "[server]\nstate-key = { file = 'state-key' }\n").expect("the configuration");
    let config = Config::read(&file).expect("valid");
    let mut keys = Vec::new();
    for secret in ["0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdeF\n"] {
        std::fs::write(folder.path().join("state-key"), secret).expect("a file");
        keys.push(config.state_key().expect("a key").expect("one is set"));
    }
    assert_ne!(keys[0], keys[1]);
    std::fs::write(folder.path().join("state-key"), "0123456789abcdef").expect("a file");
    assert!(config.state_key().expect_err("too short").to_string().contains("at least 32"));
    assert_eq!(Config::default().state_key().expect("none is needed"), None);
    for wrong in ["{}", "{ env = 'A', file = 'b' }", "'0123456789abcdef0123456789abcdef'"] {
        error(&format!("[server]\nstate-key = {wrong}\n"));
    }
}

/// The grants of the plugin `weather`, with some secrets defined.
fn granted(grants: &str) -> Result<crate::plugin::Grants, super::ConfigError> {
    let secrets = "[secrets]\nweather = { env = 'WHARF_TEST_NOT_SET' }\nmap-key = { file = '/dev/null' }\n";
    let config = Config::parse(&format!("{secrets}[plugins.weather.grants]\n{grants}\n"))?;
    Ok(config.grants(&PluginId::parse("weather").expect("a valid id")))
}

#[test]
fn http_grants_are_urls() {
    let http = |entries: &str| {
        let grants = granted(&format!("http = [{entries}]")).expect("valid");
        grants.http.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    for written in [
        r#""https://api.example.com""#,
        r#""https://api.example.com:8443/v1", "http://10.0.0.1""#,
        r#"{ url = "https://api.example.com", methods = ["GET", "POST"], private = true, headers = { authorization = "Bearer ${weather}", x-key = "${map-key}" } }"#,
    ] {
        assert_eq!(http(written), written);
    }
    assert_eq!(http(r#"{ url = "https://API.example.com/" }"#), r#""https://api.example.com""#);
    assert_eq!(granted("").expect("valid").http, []);
}

#[test]
fn an_invalid_http_grant_is_an_error_with_its_position() {
    for (wrong, message) in [
        ("'https://*.example.com'", "line 5, column 9: plugins.weather.grants.http: a grant is a scheme, a host"),
        (
            "'https://me@example.com'",
            "line 5, column 9: plugins.weather.grants.http: not a URL for a grant, it has user information",
        ),
        ("'example.com'", "it does not begin with https:// or http://"),
        (
            "{ url = 'https://example.com', methods = ['*'] }",
            "line 5, column 9: plugins.weather.grants.http: not a method",
        ),
        ("{ url = 'https://example.com', method = 'GET' }", "unknown key `method` in an entry of http"),
        ("{ methods = ['GET'] }", "the key `url` is missing"),
        ("{ url = 'https://example.com', headers = { Host = 'x' } }", "not a header that can be set: \"Host\""),
        ("{ url = 'https://example.com', headers = { X = '${other}' } }", "there is no such secret: \"other\""),
        ("true", "expected a URL in quotes, or a table with one, found true"),
    ] {
        let error = granted(&format!("http = [{wrong}]")).expect_err(wrong).to_string();
        assert!(error.contains(message), "{wrong}: {error}");
    }
    assert!(granted("http = 'https://example.com'").is_err());
}

#[test]
fn secrets_are_read_from_their_sources() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("wharf.toml");
    let text = "[secrets]\na = { file = 'a' }\nb = { file = 'none' }\n[plugins.p.grants]\nsecrets = ['a', 'b']\n";
    std::fs::write(&file, text).expect("the configuration");
    std::fs::write(folder.path().join("a"), "0123456789\n").expect("a secret");
    let grants = Config::read(&file).expect("valid").grants(&PluginId::parse("p").expect("a valid id"));
    assert_eq!((grants.secret("a"), grants.secret("b"), grants.secret("c")), (Some("0123456789"), None, None));
    assert!(!format!("{grants:?}").contains("0123456789"));
    // Used only by a header, the plugin cannot read it.
    let grants = granted("http = [{ url = 'https://x.example', headers = { K = '${weather}' } }]").expect("valid");
    assert_eq!(
        grants.secrets.iter().map(|secret| (&*secret.name, secret.readable)).collect::<Vec<_>>(),
        [("weather", false)]
    );
    for wrong in ["a = {}", "a = { env = 'A', file = 'b' }", "a = 'value'", "'a b' = { env = 'A' }"] {
        error(&format!("[secrets]\n{wrong}\n"));
    }
    assert!(granted("secrets = ['other']").expect_err("unknown").to_string().contains("no such secret"));
}

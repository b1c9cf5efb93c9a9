//! `wharf doctor`: what it finds is what a server would, and each hint is followed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use serde_json::Value;

use crate::support::home::{Home, names_in};
use crate::support::process::{command, run};

struct Findings(Vec<Value>);

impl Findings {
    /// Those about one subject, as `state: text`, and their hints.
    fn about(&self, about: &str) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found = self.0.iter().filter(|finding| finding["about"] == about);
        found.map(|it| (format!("{}: {}", text(&it["state"]), text(&it["text"])), text(&it["hint"]))).collect()
    }

    fn one(&self, about: &str) -> (String, String) {
        let mut all = self.about(about);
        assert_eq!(all.len(), 1, "{about}: {:?}", self.0);
        all.remove(0)
    }
}

fn doctor(home: &Home, more: &[&str]) -> (Output, Findings) {
    let folder = home.plugins();
    let words = ["doctor".as_ref(), folder.as_os_str(), "--json".as_ref()];
    let output = run(home, words.into_iter().chain(more.iter().map(AsRef::as_ref)));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = found["findings"].as_array().expect("a list").clone();
    (output, Findings(found))
}

#[test]
fn a_machine_without_faults_has_no_error() {
    let home = Home::new();
    home.put("hello", "hello");
    let cache = home.path("cache");
    let (output, found) = doctor(&home, &["--cache", cache.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(0), "{:?}", found.0);
    let (text, hint) = found.about("plugins").remove(0);
    assert!(text.starts_with("ok: 1 file in "), "{text}");
    // The hint is a command.
    let checked = run(&home, hint.split_once("; to check them: wharf ").expect(&hint).1.split(' '));
    assert!(checked.status.success(), "{checked:?}");
    for folder in ["state", "cache", "data", "audit log", "configuration", "wharf"] {
        assert!(found.one(folder).0.starts_with("ok: "), "{folder}: {:?}", found.0);
    }
    let folder = home.plugins();
    let text = run(&home, ["doctor".as_ref(), folder.as_os_str()]);
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.starts_with("ok    wharf "), "{text}");
    // Nothing is left of what was tried.
    assert!(!names_in(&cache).iter().any(|name| name.starts_with(".doctor")));
}

#[test]
fn each_fault_is_found_and_has_a_hint() {
    let home = Home::new();
    home.put("hello", "hello");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    home.configure(&format!(
        "[server.http]\naddress = \"{address}\"\n[metrics]\naddress = \"{address}\"\n[secrets]\ntoken = {{ env = \"WHARF_TEST_ABSENT\" }}\n\
         [plugins.helo.limits]\nmemory = \"1 MiB\"\n"
    ));
    let plugin = home.plugin("hello");
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o666)).expect("mine");
    fs::create_dir_all(home.path("home/.cursor")).expect("a folder");
    fs::write(home.path("home/.cursor/mcp.json"), r#"{"mcpServers": {"other": {"command": "other"}}}"#).expect("mine");
    let (output, found) = doctor(&home, &[]);
    assert_eq!(output.status.code(), Some(0), "a server starts: {:?}", found.0);
    let (text, hint) = found.one("secrets");
    assert_eq!(text, "note: the secret token is not set: variable WHARF_TEST_ABSENT");
    assert!(hint.starts_with("set its variable"), "{hint}");
    for about in ["HTTP", "metrics"] {
        let (text, hint) = found.one(about);
        assert!(text.starts_with("note: ") && text.contains(&address.to_string()), "{text}");
        assert!(hint.contains(&format!(":{}'", address.port())), "{hint}");
    }
    let of_plugins = found.about("plugins");
    let others = of_plugins.iter().find(|(text, _)| text.contains("other users can write it")).expect("the mode");
    assert_eq!(others.1, format!("chmod go-w {}", plugin.display()));
    assert!(of_plugins.iter().any(|(text, _)| text.contains("did you mean hello?")), "{of_plugins:?}");
    let (text, hint) = found.one("client");
    assert!(text.starts_with("note: cursor: does not start Wharf"), "{text}");
    let line = hint.strip_prefix("to add it: wharf ").expect(&hint);
    assert_eq!(line, format!("install cursor {}", home.plugins().display()));
    assert!(run(&home, line.split(' ').chain(["--yes"])).status.success(), "{hint}");
    drop(taken);
    fs::set_permissions(&plugin, fs::Permissions::from_mode(0o644)).expect("mine");
    let (_, found) = doctor(&home, &[]);
    for about in ["HTTP", "metrics"] {
        assert!(found.one(about).0.ends_with("is free"), "{:?}", found.0);
    }
    assert!(found.one("client").0.starts_with("ok: cursor: starts Wharf"), "{:?}", found.0);
    let config = home.path("home/.cursor/mcp.json");
    for (words, starts) in [
        (r#""npx", "args": ["-y", "wharf-mcp", "serve"]"#, true),
        (r#""uvx", "args": ["wharf-mcp@0.1.0", "serve"]"#, true),
        (r#""/usr/bin/wharf-mcp", "args": ["serve"]"#, true),
        (r#""npx", "args": ["-y", "wharf-mcp-other"]"#, false),
    ] {
        fs::write(&config, format!(r#"{{"mcpServers":{{"tools":{{"command":{words}}}}}}}"#)).expect("a file");
        let (_, found) = doctor(&home, &[]);
        let (text, _) = found.one("client");
        assert_eq!(text.starts_with("ok: cursor: starts Wharf"), starts, "{words}: {text}");
    }
    assert!(!found.about("plugins").iter().any(|(text, _)| text.contains("other users")), "{:?}", found.0);
}

/// The entry that the hint adds is of the folder and the configuration that were given.
#[test]
fn a_client_is_added_with_what_doctor_was_given() {
    let home = Home::new();
    fs::create_dir_all(home.path("home/.cursor")).expect("a folder");
    let file = home.path("home/.cursor/mcp.json");
    // Clients take comments.
    fs::write(&file, "{\n  // mine\n}\n").expect("a file");
    let config = home.path("other.toml");
    fs::write(&config, "").expect("a file");
    let config = config.to_str().expect("UTF-8");
    let (_, found) = doctor(&home, &["--config", config]);
    let (text, hint) = found.one("client");
    assert!(text.starts_with("note: cursor: does not start Wharf"), "{text}");
    let line = hint.strip_prefix("to add it: wharf ").expect(&hint);
    fs::write(&file, "{}").expect("a file");
    assert!(run(&home, line.split(' ').chain(["--yes"])).status.success(), "{hint}");
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a file")).expect("JSON");
    let folder = home.plugins();
    assert_eq!(written["mcpServers"]["wharf"]["args"], serde_json::json!(["serve", folder, "--config", config]));
}

/// States and subjects are columns; a hint is below its text.
#[test]
fn settings_without_effect_are_notes_with_their_hints_below() {
    let home = Home::new();
    home.put("hello", "hello");
    home.configure("[plugins.helo.limits]\nmemory = \"1 MiB\"\n[secrets]\ntoken = { env = \"WHARF_TEST_ABSENT\" }\n");
    let folder = home.plugins();
    let output = run(&home, ["doctor".as_ref(), folder.as_os_str()]);
    let text = String::from_utf8(output.stdout).expect("text");
    for expected in [
        "note  secrets        the secret token is not set: variable WHARF_TEST_ABSENT\n                     hint: set "
            .to_owned(),
        format!(
            "note  plugins        [plugins.helo] has no effect here: no plugin in {} is called helo; did you mean \
             hello?\n                     hint: correct ",
            folder.display()
        ),
    ] {
        assert!(text.contains(&expected), "no {expected:?} in {text}");
    }
    for line in text.lines() {
        let (state, rest) = line.split_at(6);
        let is_finding = ["ok    ", "note  ", "error "].contains(&state) && !rest.starts_with(' ');
        assert!(is_finding || line.starts_with("                     hint: "), "{line:?}");
    }
}

#[test]
fn what_keeps_a_server_from_starting_is_an_error() {
    let home = Home::new();
    let cache = home.path("cache");
    fs::write(&cache, "").expect("a file where the folder belongs");
    let (output, found) = doctor(&home, &["--cache", cache.to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    let (text, hint) = found.one("cache");
    assert!(text.starts_with("error: failed to write to its folder: "), "{text}");
    assert!(hint.contains("ls -ld "), "{hint}");

    home.configure("[server.http]\naddress = \"0.0.0.0:0\"\n");
    let (text, hint) = doctor(&home, &[]).1.one("HTTP");
    assert!(text.contains("without a token") && hint.contains("server.http.tokens"), "{text}; {hint}");

    home.configure("[server\n");
    let (output, found) = doctor(&home, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(found.one("configuration").0.starts_with("error: failed to "), "{:?}", found.0);
    assert!(found.one("OS sandbox").0.contains(": "), "the rest is examined all the same");
}

/// A program that is too old, one that prints no version, and one that prints without end.
#[test]
fn a_toolchain_is_judged_by_its_version() {
    let home = Home::new();
    let programs = home.path("programs");
    fs::create_dir(&programs).expect("a folder");
    let scripts = [("node", "echo v16.0.0"), ("python3", "echo unknown"), ("go", "while :; do echo; done")];
    for (program, script) in scripts {
        let file = programs.join(program);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let folder = home.plugins();
    let mut doctor = command(&home, ["doctor".as_ref(), folder.as_os_str(), "--json".as_ref()]);
    let output = doctor.env("PATH", &programs).current_dir(home.path("home")).output().expect("the binary runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = Findings(found["findings"].as_array().expect("a list").clone()).about("toolchain");
    let of = |language: &str| {
        let starts = |(text, _): &&(String, String)| text.starts_with(&format!("note: {language}"));
        found.iter().find(starts).unwrap_or_else(|| panic!("{language}: {found:?}"))
    };
    let (text, hint) = of("typescript, javascript: ");
    assert!(text.ends_with("/programs/node has version 16.0.0"), "{text}");
    assert!(hint.contains("install Node.js 20 or newer"), "{hint}");
    let (text, hint) = of("python: ");
    assert!(text.ends_with("/programs/python3 does not print its version"), "{text}");
    assert!(hint.ends_with("/programs/python3 --version"), "{hint}");
    assert!(of("go: ").1.ends_with("/programs/go version"), "{found:?}");
    assert!(of("rust: ").1.contains("rustup"), "{found:?}");
}

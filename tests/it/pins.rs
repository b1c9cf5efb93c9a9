//! Pins: a version runs if the trust rules allow it or a person has approved it. A held version
//! never answers a call, and the previous one keeps serving.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::{Home, component};
use crate::support::process::{Process, run};

mod approved_grants;
mod commands;
mod listing;
mod meanwhile;
mod records;
mod shown;
mod signatures;
mod unwritable;

/// A plugin with any grant is subject to approval.
const GRANTED: &str = "[plugins.p.grants]\nelicit = true\n";
const STRICT: &str = "[server]\ntrust = \"strict\"\n";

/// A version of a plugin: its answer, and the description of its tool `act`.
fn version(answer: &str, description: &str) -> Vec<u8> {
    Guest::returning(answer).described("act", description).build()
}

/// A component with the same behaviour and another digest.
fn rebuilt(component: &[u8]) -> Vec<u8> {
    // A custom section: id, length, length of its name, name.
    [component, &[0, 2, 1, b'x']].concat()
}

/// A home with the first version of `p`, and those settings.
fn home(settings: &str) -> Home {
    let home = Home::new();
    home.configure(settings);
    home.put_bytes(&version("1", "Does a thing."), "p");
    home
}

/// Runs a command that ends with the plugin folder.
fn folder_command(home: &Home, words: &[&str]) -> Output {
    let folder = home.plugins();
    run(home, words.iter().map(|word| word.as_ref()).chain([folder.as_os_str()]))
}

fn approve(home: &Home, name: &str) {
    let output = folder_command(home, &["approve", "--yes", name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_misspelt_name_is_answered_with_the_nearest() {
    let home = home("");
    home.put_bytes(&version("1", "old"), "weather");
    let reported = |output: Output| String::from_utf8(output.stderr).expect("UTF-8");
    let refused = reported(folder_command(&home, &["approve", "--yes", "wether"]));
    assert!(refused.contains("hint: did you mean weather?"), "{refused}");
    let elsewhere = reported(run(&home, ["approve", "weather"]));
    assert!(elsewhere.contains("hint: name the folder that its file is in"), "{elsewhere}");
    approve(&home, "weather");
    let revoked = reported(run(&home, ["revoke", "weathr"]));
    assert!(revoked.contains("hint: did you mean weather?"), "{revoked}");
}

/// The entry of `p` in `wharf status --json`.
fn status(home: &Home) -> Value {
    let output = folder_command(home, &["status", "--json"]);
    let mut status: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let plugins = status["plugins"].as_array_mut().expect("a list");
    let of_p = plugins.iter().position(|plugin| plugin["plugin"] == "p").expect("it is in the folder");
    plugins[of_p].take()
}

/// The pin file, parsed.
fn lock(home: &Home) -> toml::Table {
    let text = fs::read_to_string(home.path("state/wharf/lock.toml")).expect("the pin file");
    text.parse().expect("TOML")
}

/// Calls `p` until it returns that answer.
fn until(client: &mut Client, answer: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while client.text("p_version", json!({})) != answer {
        assert!(Instant::now() < deadline, "it does not answer {answer}:\n{}", client.process().log());
    }
}

fn description(client: &mut Client) -> String {
    let listed = client.result("tools/list", json!({}));
    let tools = listed["tools"].as_array().expect("tools");
    let act = tools.iter().find(|tool| tool["name"] == "p_act").expect("the tool");
    act["description"].as_str().expect("a description").to_owned()
}

#[test]
fn changed_descriptions_with_grants_are_held_until_approved() {
    let home = home(GRANTED);
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.put_bytes(&version("2", "Does a thing.\nAnd \u{1F600} sends it."), "p");
    let log = client.process().log_with("held: the plugin holds grants, and its lists have changed");
    let folder = home.plugins().display().to_string();
    assert!(log.contains(&format!("wharf approve p {folder}")) && log.contains("still_serving=true"), "{log}");
    assert_eq!(client.text("p_version", json!({})), "1");
    assert_eq!(description(&mut client), "Does a thing.");

    let output = folder_command(&home, &["status"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for line in
        ["state    held: ", "tool act: description", "- Does a thing.", "+ And \u{1F600} sends it.", "wharf approve p"]
    {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let held = status(&home);
    assert_eq!((&held["state"], &held["code"]), (&json!("held"), &json!("other_words")));
    assert_eq!(held["changes"][0]["old"], "Does a thing.");
    assert_eq!(held["pinned"]["grants"], json!(["elicit"]));

    approve(&home, "p");
    until(&mut client, "2");
    assert_eq!(description(&mut client), "Does a thing.\nAnd \u{1F600} sends it.");
    assert_eq!(status(&home)["state"], "runs");
    // The previously pinned version is now held.
    home.put_bytes(&version("1", "Does a thing."), "p");
    client.process().log_with("held: ");
    until(&mut client, "2");
}

#[test]
fn a_plugin_without_grants_is_replaced_at_once() {
    let home = home("");
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.put_bytes(&version("2", "Does another thing."), "p");
    until(&mut client, "2");
    assert_eq!(description(&mut client), "Does another thing.");
    let pin = status(&home)["pinned"].take();
    assert_eq!((&pin["approved"], &pin["grants"]), (&json!(false), &json!([])));
}

#[test]
fn unchanged_descriptions_are_reloaded_with_their_grants() {
    let home = Home::with(&["notes"]);
    home.configure("[plugins.notes.grants]\nkeyvalue = true\n");
    let mut client = Client::start_modern(&home);
    client.call("notes_add", json!({"text": "milk"}));
    let first = lock(&home)["plugins"]["notes"]["content"].clone();
    home.put_bytes(&rebuilt(&fs::read(component("notes")).expect("a guest")), "notes");
    let deadline = Instant::now() + TIMEOUT;
    while lock(&home)["plugins"]["notes"]["content"] == first {
        assert!(Instant::now() < deadline, "the new version is not loaded:\n{}", client.process().log());
    }
    // Its stored notes are listed, which needs its grant and is not part of the tool descriptions.
    let listed = client.result("resources/list", json!({}));
    assert_eq!(listed["resources"][0]["uri"], "notes://1");
    client.call("notes_add", json!({"text": "bread"}));
}

#[test]
fn strict_trust_runs_nothing_without_approval() {
    let home = home(STRICT);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    client.process().log_with("held: it has not been approved");
    assert_eq!(status(&home)["code"], "unapproved");
    approve(&home, "p");
    client.tools_until(|tools| tools == ["p_version", "p_act"]);
    assert_eq!(client.text("p_version", json!({})), "1");
    // Not even a rebuild with the same tool descriptions.
    home.put_bytes(&rebuilt(&version("1", "Does a thing.")), "p");
    let deadline = Instant::now() + TIMEOUT;
    while !client.process().log().contains("still_serving=true") {
        assert!(Instant::now() < deadline, "it is not held");
        assert_eq!(client.text("p_version", json!({})), "1");
    }
}

#[test]
fn a_file_that_cannot_be_a_plugin_is_refused_and_not_held() {
    let home = home(STRICT);
    let whole = version("2", "Does a thing.");
    let mut modules = b"\0asm\x01\0\0\0".to_vec();
    modules.extend([0, 2, 1, b'x']);
    let broken: [(&str, &[u8], &str); 6] = [
        ("empty", b"", "failed to load an empty file"),
        ("text", b"no plugin", "failed to load a text file"),
        ("page", b"<!doctype html><title>404</title>", "failed to load a web page"),
        ("module", &modules, "failed to load a core WebAssembly module"),
        ("cut", &whole[..whole.len() / 2], "failed to read the component, which is damaged or truncated"),
        ("nothing", b"\0asm\x0d\0\x01\0", "failed to find a plugin interface in the component"),
    ];
    for (name, bytes, _) in &broken {
        home.put_bytes(bytes, name);
    }
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    let log = client.process().log_with("held: it has not been approved");
    let output = folder_command(&home, &["status"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for (name, _, reason) in &broken {
        client.process().log_with(reason);
        assert!(text.contains(&format!("state    refused: {reason}")), "no {reason:?} in {text}");
        assert!(!log.contains(&format!("wharf approve {name} ")), "{log}");
        assert!(!text.contains(&format!("wharf approve {name} ")), "{text}");
    }
    // With signatures required, these are still refused for their content.
    home.configure(&format!("{STRICT}[signatures]\nkeys = [{:?}]\nrequired = true\n", signatures::a_key()));
    let output = folder_command(&home, &["status"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(broken.iter().all(|(.., reason)| text.contains(reason)), "{text}");
    assert!(text.contains("failed to find the signature"), "{text}");
}

#[test]
fn auto_approved_versions_are_held_under_strict_trust() {
    let home = home("");
    Client::start(&home).tools_until(|tools| tools.len() == 2);
    assert_eq!(status(&home)["state"], "runs");
    home.configure(STRICT);
    assert_eq!(status(&home)["code"], "unapproved");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    approve(&home, "p");
    client.tools_until(|tools| tools.len() == 2);
}

#[test]
fn dev_trust_runs_everything_and_pins_nothing() {
    let home = home(&format!("{GRANTED}[server]\ntrust = \"dev\"\n"));
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.put_bytes(&version("2", "Does another thing."), "p");
    until(&mut client, "2");
    assert!(!home.path("state/wharf/lock.toml").exists());
}

#[test]
fn a_file_that_returns_is_compared_with_its_old_pin() {
    let home = home(GRANTED);
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.remove("p");
    client.tools_until(|tools| tools.is_empty());
    let deadline = Instant::now() + TIMEOUT;
    while lock(&home)["plugins"]["p"].get("gone").is_none() {
        assert!(Instant::now() < deadline, "the pin is not marked as gone");
    }
    home.put_bytes(&version("2", "Does another thing."), "p");
    client.process().log_with("held: the plugin holds grants");
    assert_eq!(client.tools(), [""; 0]);
    // It is held after a restart too; the pinned version still runs.
    client.finish();
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    home.put_bytes(&version("1", "Does a thing."), "p");
    client.tools_until(|tools| tools.len() == 2);
    assert!(lock(&home)["plugins"]["p"].get("gone").is_none());
}

#[test]
fn no_call_reaches_a_version_that_is_held() {
    let home = home(GRANTED);
    let mut client = Client::start_modern(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    let call = json!({"name": "p_version", "arguments": {}});
    let mut open = Vec::new();
    for n in 0..20 {
        home.put_bytes(&version("never", &format!("Does the thing {n}.")), "p");
        open.extend((0..20).map(|_| client.post("tools/call", call.clone())));
        if n % 5 == 0 {
            home.put_bytes(&version("1", "Does a thing."), "p");
        }
    }
    for request in open {
        assert_eq!(first_text(&client.answer(request)["result"]), "1");
    }
    client.process().log_with("held: ");
    assert_eq!(client.text("p_version", json!({})), "1");
}

#[test]
fn processes_share_pins() {
    let home = home(GRANTED);
    let names: Vec<String> = (0..12).map(|n| format!("q{n}")).collect();
    for name in &names {
        home.put_bytes(&version("1", name), name);
    }
    let mut clients: Vec<Client> =
        (0..3).map(|_| Process::serve(&home)).map(|process| Client::initialized(process, "2025-11-25")).collect();
    for client in &mut clients {
        client.tools_until(|tools| tools.len() == 26);
    }
    let pinned = lock(&home);
    assert!(names.iter().all(|name| pinned["plugins"].get(name).is_some()), "{pinned}");
    let mode = fs::metadata(home.path("state/wharf/lock.toml")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    home.put_bytes(&version("2", "Does another thing."), "p");
    for client in &mut clients {
        client.process().log_with("held: ");
    }
    approve(&home, "p");
    for client in &mut clients {
        until(client, "2");
    }
}

#[test]
fn a_damaged_pin_file_is_logged_kept_and_holds_plugins_with_grants() {
    let home = home(GRANTED);
    home.put_bytes(&version("free", "Holds nothing."), "q");
    fs::create_dir_all(home.path("state/wharf")).expect("a folder");
    let file = home.path("state/wharf/lock.toml");
    for (damaged, mode, expected) in [
        ("version = 1\n[plugins.p]\ncontent = \"blake3", 0o600, "failed to read the pin file, line 3"),
        ("version = 2\n", 0o600, "failed to read the pin file: unknown format version 2"),
        ("version = 1\n", 0o666, "other users can write it"),
    ] {
        fs::write(&file, damaged).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
        let mut client = Client::start(&home);
        client.tools_until(|tools| tools == ["q_version", "q_act"]);
        let log = client.process().log_with("held: ");
        assert!(log.contains(expected) && log.contains("lock.toml"), "{log}");
        assert_eq!(fs::read_to_string(&file).expect("the file"), damaged);
        // Recovers without a restart.
        fs::remove_file(&file).expect("the file");
        client.tools_until(|tools| tools.len() == 4);
        fs::remove_file(&file).expect("the new pin file");
    }
}

#[test]
fn only_the_version_pinned_in_the_configuration_runs() {
    let home = home("");
    let wanted = version("2", "Does a thing.");
    home.configure(&format!("[plugins.p]\npin = \"blake3:{}\"\n", blake3::hash(&wanted)));
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    client.process().log_with("held: the configuration pins another version");
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    assert_eq!(output.status.code(), Some(1));
    home.put_bytes(&wanted, "p");
    client.tools_until(|tools| tools.len() == 2);
    // The pin is reloaded like the rest of the configuration; the newly pinned version takes over
    // without a gap.
    let next = version("3", "Does another thing.");
    home.put_bytes(&next, "p");
    client.process().log_with("still_serving=true");
    home.configure(&format!("[plugins.p]\npin = \"blake3:{}\"\n", blake3::hash(&next)));
    let deadline = Instant::now() + TIMEOUT;
    loop {
        // A gap would make the tool unknown.
        let answer = client.text("p_version", json!({}));
        if answer == "3" {
            break;
        }
        assert_eq!(answer, "2");
        assert!(Instant::now() < deadline, "version 3 does not take over:\n{}", client.process().log());
    }
    home.configure(&format!("[plugins.p]\npin = \"blake3:{}\"\n", "0".repeat(64)));
    client.tools_until(|tools| tools.is_empty());
    home.configure("");
    client.tools_until(|tools| tools.len() == 2);
    assert_eq!(client.text("p_version", json!({})), "3");
}

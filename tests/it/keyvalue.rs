//! The key-value store: durability, concurrency, limits, and isolation between plugins. The guest
//! is the sample `notes`.

use std::collections::{BTreeSet, VecDeque};
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::home::{Home, component};
use crate::support::process::run;

const GRANTED: &str = "[plugins.notes.grants]\nkeyvalue = true\n";

/// A home with `notes` and those settings.
fn home(settings: &str) -> Home {
    let home = Home::with(&["notes"]);
    home.configure(settings);
    home
}

/// Requests in flight: few enough that none exceeds its wait for a turn.
const WINDOW: usize = 4;

/// Adds `count` notes, several at a time, and returns the confirmed ids, at most `enough`.
fn add(client: &mut Client, count: usize, enough: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    let mut open = VecDeque::new();
    for n in 0..count {
        let arguments = json!({"text": format!("note {n} of {}", client.process().id())});
        open.push_back(client.post("tools/call", json!({"name": "notes_add", "arguments": arguments})));
        if open.len() == WINDOW || n + 1 == count {
            let first = open.pop_front().expect("one is in flight");
            ids.push(id(&client.answer(first)["result"]));
        }
        if ids.len() == enough {
            return ids;
        }
    }
    ids.extend(open.into_iter().map(|request| id(&client.answer(request)["result"])));
    ids
}

/// The id of an added note.
fn id(result: &Value) -> u64 {
    result["structuredContent"]["id"].as_u64().unwrap_or_else(|| panic!("no id in {result}"))
}

/// The ids of all notes.
fn kept(client: &mut Client) -> BTreeSet<u64> {
    let listed = client.call("notes_list", json!({}));
    let notes = listed["structuredContent"]["notes"].as_array().unwrap_or_else(|| panic!("no notes in {listed}"));
    notes.iter().map(|note| note["id"].as_u64().expect("an id")).collect()
}

/// The error text of a call that must fail.
fn refusal(client: &mut Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    first_text(&result).to_owned()
}

#[test]
fn stored_values_outlive_the_process() {
    let home = home(GRANTED);
    let mut client = Client::start_modern(&home);
    assert_eq!(id(&client.call("notes_add", json!({"text": "milk"}))), 1);
    client.finish();
    let mut client = Client::start_modern(&home);
    let read = client.result("resources/read", json!({"uri": "notes://1"}));
    assert_eq!(read["contents"][0]["text"], "milk");
    // Stored notes are listed from the start.
    let listed = client.result("resources/list", json!({}));
    assert_eq!(listed["resources"][0]["uri"], "notes://1");
    assert_eq!(listed["resources"][0]["size"], 4);
    assert_eq!(id(&client.call("notes_add", json!({"text": "bread"}))), 2);
}

#[test]
fn a_killed_process_loses_no_confirmed_write() {
    let home = home(GRANTED);
    let mut client = Client::start_modern(&home);
    let confirmed = add(&mut client, 100, 40);
    // Further writes are in flight.
    client.process().signal(Signal::KILL);
    client.process().wait();
    let mut client = Client::start_modern(&home);
    let kept = kept(&mut client);
    assert!(confirmed.iter().all(|id| kept.contains(id)), "confirmed {confirmed:?}, kept {kept:?}");
    for id in &kept {
        let read = client.result("resources/read", json!({"uri": format!("notes://{id}")}));
        assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.starts_with("note ")), "{read}");
    }
    let next = id(&client.call("notes_add", json!({"text": "later"})));
    assert!(!kept.contains(&next));
}

#[test]
fn two_processes_writing_at_once_lose_nothing() {
    let home = home(GRANTED);
    let write = || {
        let mut client = Client::start_modern(&home);
        add(&mut client, 200, usize::MAX)
    };
    let (one, other) = std::thread::scope(|scope| {
        let writers = [scope.spawn(write), scope.spawn(write)];
        let [one, other] = writers.map(|writer| writer.join().expect("it has written"));
        (one, other)
    });
    let all: BTreeSet<u64> = one.into_iter().chain(other).collect();
    assert_eq!(all, (1..=400).collect());
    assert_eq!(kept(&mut Client::start_modern(&home)), all);
}

#[test]
fn the_plugin_gets_an_error_over_a_limit() {
    let home =
        home("[plugins.notes.grants]\nkeyvalue = { quota = \"10KiB\" }\n[plugins.wide.grants]\nkeyvalue = true\n");
    home.put("notes", "wide");
    let mut client = Client::start_modern(&home);
    let small = json!({"text": "x".repeat(9 << 10)});
    assert_eq!(id(&client.call("notes_add", small.clone())), 1);
    let over = refusal(&mut client, "notes_add", small);
    assert!(over.contains("this plugin may store at most 10240 bytes in all; this write would make it "), "{over}");
    assert_eq!(kept(&mut client), BTreeSet::from([1]));
    let over = refusal(&mut client, "wide_add", json!({"text": "x".repeat(300 << 10)}));
    assert!(over.contains("the value has ") && over.contains(" bytes; the limit is 262144"), "{over}");
}

#[test]
fn without_the_grant_storing_is_denied_and_the_log_has_the_hint() {
    let home = home("");
    let mut client = Client::start_modern(&home);
    for _ in 0..2 {
        let reported = refusal(&mut client, "notes_add", json!({"text": "milk"}));
        assert!(reported.contains("this plugin may not store anything") && reported.contains("keyvalue"), "{reported}");
    }
    assert_eq!(client.result("resources/list", json!({}))["resources"], json!([]));
    let file = home.path("config/wharf/wharf.toml");
    let hint = format!("put `keyvalue = true` under `[plugins.notes.grants]` in {}", file.display());
    let log = client.process().log_with(&hint);
    assert_eq!(log.matches(&hint).count(), 1, "{log}");
    assert!(!home.path("data/wharf/store/keyvalue.sqlite").exists());

    // Following the hint works.
    home.configure(GRANTED);
    let mut client = Client::start_modern(&home);
    assert_eq!(id(&client.call("notes_add", json!({"text": "milk"}))), 1);
}

#[test]
fn a_plugin_does_not_see_values_of_another() {
    let home = Home::new();
    home.put("notes", "mine");
    home.put("notes", "yours");
    home.configure("[plugins.mine.grants]\nkeyvalue = true\n[plugins.yours.grants]\nkeyvalue = true\n");
    let mut client = Client::start_modern(&home);
    assert_eq!(id(&client.call("mine_add", json!({"text": "secret"}))), 1);
    assert_eq!(client.call("yours_list", json!({}))["structuredContent"], json!({"notes": []}));
    assert_eq!(id(&client.call("yours_add", json!({"text": "other"}))), 1);
    let found = client.call("yours_search", json!({"query": "secret"}));
    assert_eq!(found["structuredContent"], json!({"notes": []}));
}

#[test]
fn a_broken_database_is_logged_and_not_overwritten() {
    let home = home(GRANTED);
    home.put("echo", "echo");
    let file = home.path("data/wharf/store/keyvalue.sqlite");
    let rubbish = "no database ".repeat(1000);
    fs::create_dir_all(file.parent().expect("a folder")).expect("the data folder");
    fs::write(&file, &rubbish).expect("a file");
    let mut client = Client::start_modern(&home);
    let reported = refusal(&mut client, "notes_add", json!({"text": "milk"}));
    assert_eq!(reported, "the host's store failed");
    let reason = format!("the host's store failed: file is not a database: {}", file.display());
    client.process().log_with(&reason);
    assert_eq!(fs::read_to_string(&file).expect("the file"), rubbish);
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    // Recovers without a restart.
    fs::remove_file(&file).expect("the file");
    assert_eq!(id(&client.call("notes_add", json!({"text": "milk"}))), 1);
}

/// All pages of the database are overwritten.
#[test]
fn a_damaged_database_breaks_only_the_store() {
    let home = home(GRANTED);
    let mut client = Client::start_modern(&home);
    add(&mut client, 100, usize::MAX);
    client.finish();
    for file in fs::read_dir(home.path("data/wharf/store")).expect("the data folder") {
        let file = file.expect("a folder entry").path();
        let bytes = fs::read(&file).expect("a file of the database");
        // The header stays, the pages are gone.
        let damaged: Vec<u8> = bytes.iter().enumerate().map(|(at, byte)| if at < 100 { *byte } else { 0xff }).collect();
        fs::write(&file, damaged).expect("a damaged file");
    }
    let mut client = Client::start_modern(&home);
    assert_eq!(refusal(&mut client, "notes_list", json!({})), "the host's store failed");
    let log = client.process().log_with("data/wharf/store/keyvalue.sqlite");
    assert!(log.contains("the host's store failed: ") && !log.contains("panicked"), "{log}");
    assert_eq!(client.tools().len(), 4);
}

#[test]
fn check_says_which_grant_a_file_needs() {
    let home = home("");
    let check = |settings: &str| {
        home.configure(settings);
        let output = run(&home, ["check".as_ref(), component("notes").as_os_str()]);
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let text = check("");
    assert!(text.contains("wasi:keyvalue/store@0.2.0-draft"), "{text}");
    assert!(
        text.contains("grant    keyvalue, not granted: put `keyvalue = true` under `[plugins.notes.grants]`"),
        "{text}"
    );
    let text = check(GRANTED);
    assert!(text.contains("grant    keyvalue, granted\n"), "{text}");
    let output = run(&home, ["check".as_ref(), "--json".as_ref(), component("notes").as_os_str()]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["grants"], json!([{"name": "keyvalue", "granted": true, "grantedToSome": false}]));
}

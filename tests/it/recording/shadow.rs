//! `wharf shadow`: another version beside a server, on the calls that it records.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use super::*;
use crate::support::client::Client;
use crate::support::process::command;

/// Follows until so many calls were run; returns when it waits for them.
fn shadow(home: &Home, with: &Path, calls: &str, more: &[&str]) -> Child {
    let words = ["shadow", "dice", with.to_str().expect("UTF-8"), "--calls", calls];
    let mut starting = command(home, words.iter().chain(more));
    let mut child = starting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("waiting for calls of dice") {
        line.clear();
        assert!(said.read_line(&mut line).expect("a line") > 0, "it ended");
    }
    child
}

fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("it ends");
    (output.status.code(), text(&output.stdout))
}

#[test]
fn another_version_runs_on_live_calls_and_changes_nothing() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    home.configure("[record]\nfolder = \"recordings\"\n");
    let mut client = Client::start_modern(&home);
    // Of before, which do not count.
    client.call("dice_roll", json!({"seconds": 0}));
    let same = shadow(&home, &home.plugin("dice"), "2", &["--json"]);
    for _ in 0..2 {
        client.call("dice_roll", json!({"seconds": 0}));
    }
    let (code, shown) = ended(same);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!((code, &shown["calls"], &shown["same"]), (Some(0), &json!(2), &json!(2)), "{shown}");
    assert!(shown["cost"]["now"]["cpu_us"].as_u64() > Some(0), "{shown}");
    let other = home.path("other.wasm");
    fs::write(&other, dice("(if (i32.eqz (local.get $seconds)) (then (return (i64.const 7))))")).expect("a component");
    let differing = shadow(&home, &other, "1", &[]);
    let result = client.call("dice_roll", json!({"seconds": 0}));
    let (code, shown) = ended(differing);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("it ends differently") && shown.contains("0 of 1 calls of dice are the same"), "{shown}");
    assert_ne!(result["content"][0]["text"], "7", "the server has the version that it had");
    client.finish();
}

#[test]
fn it_ends_in_time_and_says_what_is_missing() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    let with = home.plugin("dice");
    let refused = |config: &str| {
        home.configure(config);
        let output = run(&home, ["shadow", "dice", with.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(2), "{config}");
        text(&output.stderr)
    };
    assert!(refused("").contains("add [record] with folder"));
    assert!(refused("[record]\nfolder = \"r\"\nplugins = [\"notes\"]\n").contains("add \"dice\" to record.plugins"));
    assert!(refused("[record]\nfolder = \"r\"\n").contains("start the server first"));
    fs::create_dir(home.path("config/wharf/r")).expect("a folder");
    let (code, shown) = ended(shadow(&home, &with, "1", &["--within", "10ms"]));
    // Nothing is known of a version that ran no call.
    assert_eq!((code, shown.trim_end().starts_with("0 of 0 calls of dice")), (Some(1), true), "{shown}");
}

#[test]
fn a_version_that_does_not_end_is_not_the_same() {
    let home = Home::new();
    home.put_bytes(&dice(""), "dice");
    home.configure("[record]\nfolder = \"recordings\"\n[plugins.dice.limits]\ntimeout = '10m'\ncpu = '10m'\n");
    let mut client = Client::start_modern(&home);
    client.call("dice_roll", json!({"seconds": 0}));
    let other = home.path("other.wasm");
    fs::write(&other, dice("(loop $spin (br $spin))")).expect("a component");
    let spins = shadow(&home, &other, "1", &["--within", "5s", "--json"]);
    client.call("dice_roll", json!({"seconds": 0}));
    let (code, shown) = ended(spins);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let counted = [&shown["calls"], &shown["same"], &shown["unfinished"]];
    assert_eq!((code, counted), (Some(1), [&json!(1), &json!(0), &json!(1)]), "{shown}");
    client.finish();
}

//! The skill in `plugins/skills`: it is served, and the plugins that it names do what it says.

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::json;

use super::{folder, read, uris};
use crate::support::client::Client;
use crate::support::home::{Home, repository};

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => fs::write(target, fs::read(entry.path()).expect("a file")).expect("a file"),
        }
    }
}

#[test]
fn the_sample_skill_is_served_and_right() {
    let home = Home::new();
    for plugin in ["time", "math"] {
        home.put_file(&repository().join(format!("plugins/prebuilt/{plugin}.wasm")), plugin);
    }
    copy(&repository().join("plugins/skills/timesheet"), &folder(&home, "timesheet"));
    let mut client = Client::start_modern(&home);
    assert_eq!(uris(&mut client), ["skill://timesheet/SKILL.md"]);
    let skill = read(&mut client, "skill://timesheet/SKILL.md");
    let rules = read(&mut client, "skill://timesheet/references/rounding.md");
    let tools = client.tools();
    let named = Regex::new(r"`((?:time|math)_\w+)`").expect("a pattern");
    let used: Vec<&str> = named.captures_iter(&skill).map(|found| found.get(1).expect("a name").as_str()).collect();
    assert!(used.len() > 1 && used.iter().all(|tool| tools.iter().any(|known| known == tool)), "{used:?} of {tools:?}");

    let shift = json!({"start": "2026-03-28T22:00", "end": "2026-03-29T06:00", "zone": "Europe/Paris"});
    let seconds = client.call("time_difference", shift)["structuredContent"]["seconds"].as_f64().expect("a number");
    assert!(skill.contains(&format!("has {seconds} seconds")), "{seconds}");
    for (expression, result) in [
        ("25200 / 3600 * 52.50", "367.5"),
        ("ceil(25201 / 900) / 4", "7.25"),
        ("floor(25201 / 900) / 4", "7"),
        ("ceil(3601 / 60) / 60", "1.01"),
    ] {
        let text = client.text("math_evaluate", json!({ "expression": expression }));
        assert!(text.contains(result), "{expression}: {text}");
    }
    assert!(skill.contains("which is 367.5") && rules.contains("ceil(seconds / 900) / 4"));
}

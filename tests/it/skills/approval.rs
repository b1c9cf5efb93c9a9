//! Skills and pins: what a person approved is served, and no other version.

use serde_json::json;

use super::{folder, folder_command, put, read, skill_file, text, until, until_listed, uris, write};
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::run;

const URI: &str = "skill://demo/SKILL.md";

#[test]
fn a_changed_skill_is_held_until_approved() {
    let home = Home::new();
    put(&home, "demo", "# One\nKeep this line.\nOld words.");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &[URI]);
    let changed = skill_file("demo", "Does things.", "# One\nKeep this line.\nNew words.");
    write(&folder(&home, "demo").join("SKILL.md"), &changed);
    let log = client.process().log_with("held: a model follows it, and its files have changed");
    let command = format!("wharf approve skill:demo {}", home.plugins().display());
    assert!(log.contains(&command) && log.contains("still_serving=true"), "{log}");
    assert!(read(&mut client, URI).contains("Old words."));

    let status = folder_command(&home, &["status"]);
    assert_eq!(status.status.code(), Some(1));
    let shown = text(&status.stdout);
    for line in ["skill:demo", "state    held: ", "file SKILL.md: text", "- Old words.", "+ New words.", &command] {
        assert!(shown.contains(line), "no {line:?} in {shown}");
    }
    assert!(!shown.contains("Keep this line."), "{shown}");
    let json: serde_json::Value =
        serde_json::from_slice(&folder_command(&home, &["status", "--json"]).stdout).expect("JSON");
    assert_eq!((&json["skills"][0]["plugin"], &json["skills"][0]["state"]), (&json!("skill:demo"), &json!("held")));
    assert_eq!(json["plugins"], json!([]));

    let approved = folder_command(&home, &["approve", "--yes", "skill:demo"]);
    let told = text(&approved.stderr);
    assert!(approved.status.success() && told.contains("+ New words."), "{told}");
    until(&mut client, URI, "New words.");
    let without_kind = text(&folder_command(&home, &["approve", "--yes", "demo"]).stderr);
    assert!(without_kind.contains("did you mean the skill of that name, skill:demo?"), "{without_kind}");

    // What was pinned before is another version now.
    write(&folder(&home, "demo").join("SKILL.md"), &skill_file("demo", "Does things.", "Other words."));
    client.process().log_with("held: ");
    assert!(read(&mut client, URI).contains("New words."));
    // And the approved one, put back, is none that waits.
    write(&folder(&home, "demo").join("SKILL.md"), &changed);
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while !folder_command(&home, &["status"]).status.success() {
        assert!(std::time::Instant::now() < deadline);
    }
}

#[test]
fn a_revoked_skill_is_not_served() {
    let home = Home::new();
    put(&home, "demo", "# One");
    let mut client = Client::start_modern(&home);
    until_listed(&mut client, &[URI]);
    let revoked = folder_command(&home, &["revoke", "skill:demo"]);
    let told = text(&revoked.stderr);
    assert!(revoked.status.success() && told.contains("to undo: wharf approve skill:demo"), "{told}");
    until_listed(&mut client, &[]);
    let error = client.error("resources/read", json!({ "uri": URI }));
    assert_eq!(error["data"]["reason"], "resource_not_found");
    let status = text(&folder_command(&home, &["status"]).stdout);
    assert!(status.contains("held: it was revoked"), "{status}");
    assert!(folder_command(&home, &["approve", "--yes", "skill:demo"]).status.success());
    until_listed(&mut client, &[URI]);
}

#[test]
fn strict_trust_holds_new_skills_too() {
    let home = Home::new();
    home.configure("[server]\ntrust = 'strict'\n");
    put(&home, "demo", "# One");
    put(&home, "other", "# Two");
    let mut client = Client::start_modern(&home);
    client.process().log_with("held: it has not been approved");
    assert_eq!(uris(&mut client), [""; 0]);
    let status = text(&folder_command(&home, &["status"]).stdout);
    assert!(status.contains("2 are pending approval") && status.contains("2 files, "), "{status}");
    assert!(folder_command(&home, &["approve", "--yes", "--all"]).status.success());
    until_listed(&mut client, &[URI, "skill://other/SKILL.md"]);
    let again = folder_command(&home, &["approve", "--yes", "--all"]);
    assert!(text(&again.stderr).contains("all 2 versions are approved already"), "{}", text(&again.stderr));
}

#[test]
fn names_that_are_no_skill_are_refused() {
    let home = Home::new();
    put(&home, "demo", "# One");
    let absent = folder_command(&home, &["approve", "--yes", "skill:dem"]);
    assert!(text(&absent.stderr).contains("failed to find the skill skill:dem in "), "{}", text(&absent.stderr));
    let invalid = folder_command(&home, &["approve", "--yes", "skill:De"]);
    assert!(text(&invalid.stderr).contains("parse the plugin name"), "{}", text(&invalid.stderr));
    let never = run(&home, ["revoke", "skill:demo"]);
    assert!(!never.status.success() && text(&never.stderr).contains("never run"), "{}", text(&never.stderr));
}

//! Listings that depend on grants: a new version is listed without its grants first; some list only
//! with them, or differently each time.

use super::*;
use crate::terminal::at_terminal;

/// A grant that a listing can observe.
const VARIABLE: &str = "[plugins.p.grants]\nenv = { PLACE = \"here\" }\n";
const SILENT: &str = "the plugin holds grants, and cannot list what it offers without them";

fn counting(answer: &str) -> Vec<u8> {
    Guest::returning(answer).lists_variable_count("act").build()
}

fn silent(answer: &str) -> Vec<u8> {
    Guest::returning(answer).described("act", "Does a thing.").listing_needs_variable().build()
}

/// Serves a home in which `p` was pinned and then replaced by that component.
fn replaced(home: &Home, component: &[u8]) -> Client {
    let mut client = Client::start(home);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.put_bytes(component, "p");
    client
}

#[test]
fn a_new_version_is_listed_without_its_grants() {
    let home = home(VARIABLE);
    let mut client = replaced(&home, &counting("2"));
    client.process().log_with("held: the plugin holds grants, and its lists have changed");
    assert_eq!(status(&home)["changes"][0]["new"], "0 variables");
    assert_eq!(client.text("p_version", json!({})), "1");
    // `approve` shows how its listing differs with its grants.
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && reported.contains("with its grants, its tool descriptions are different"),
        "{reported}"
    );
    assert!(reported.contains("+ 0 variables") && reported.contains("+ 1 variables"), "{reported}");
    until(&mut client, "2");
    assert_eq!(description(&mut client), "1 variables");
}

#[test]
fn a_version_that_lists_differently_with_grants_is_held() {
    let home = home(VARIABLE);
    home.put_bytes(&version("1", "0 variables"), "p");
    // Without its grants it lists what the pinned version lists.
    let mut client = replaced(&home, &counting("2"));
    client.process().log_with("held: the plugin holds grants, and its lists have changed");
    assert_eq!(client.text("p_version", json!({})), "1");
    assert_eq!(description(&mut client), "0 variables");
    let held = status(&home);
    assert_eq!((&held["code"], &held["changes"][0]["new"]), (&json!("other_words"), &json!("1 variables")), "{held}");
}

#[test]
fn a_version_that_needs_grants_to_list_is_held_until_approved() {
    let home = home(VARIABLE);
    let mut client = replaced(&home, &silent("2"));
    client.process().log_with(&format!("held: {SILENT}"));
    assert_eq!(client.text("p_version", json!({})), "1");
    let held = status(&home);
    assert_eq!((&held["state"], &held["code"]), (&json!("held"), &json!("silent")));
    assert!(held["hint"].as_str().is_some_and(|hint| hint.contains("wharf approve p")), "{held}");

    let folder = home.plugins();
    let approve = ["approve".as_ref(), "p".as_ref(), folder.as_os_str()];
    let output = at_terminal(&home, &approve, |person| person.sees("use its grants for that?", "n"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(status(&home)["state"], "held");
    let output = at_terminal(&home, &approve, |person| {
        person.sees("use its grants for that?", "y");
        person.sees("Approve this version of p?", "y");
    });
    assert_eq!(output.status.code(), Some(0));
    until(&mut client, "2");
    assert_eq!(status(&home)["state"], "runs");
}

#[test]
fn a_plugin_that_needs_grants_to_list_can_be_approved_under_strict_trust() {
    let home = home(&format!("{VARIABLE}{STRICT}"));
    home.put_bytes(&silent("1"), "p");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), [""; 0]);
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && reported.contains("+ Does a thing."), "{reported}");
    client.tools_until(|tools| tools.len() == 2);
    assert_eq!(client.text("p_version", json!({})), "1");
}

/// A new plugin is auto-approved on first use, so it may need its grants to list.
#[test]
fn a_new_plugin_that_needs_grants_to_list_is_auto_approved() {
    let home = home(VARIABLE);
    home.put_bytes(&silent("1"), "p");
    assert_eq!(status(&home)["state"], "runs");
    assert_eq!(Client::start(&home).text("p_version", json!({})), "1");
    assert_eq!(status(&home)["state"], "runs");
}

fn differing(settings: &str) -> Home {
    let home = home(settings);
    home.put_bytes(&Guest::returning("1").lists_differently("act").build(), "p");
    home
}

#[test]
fn a_changing_list_runs_without_grants() {
    let home = differing("");
    let reported: Vec<String> = (0..2).map(|_| description(&mut Client::start(&home))).collect();
    assert_ne!(reported[0], reported[1]);
    assert_eq!(status(&home)["state"], "runs");
}

#[test]
fn a_changing_list_is_held_with_grants() {
    let home = differing(GRANTED);
    let mut client = Client::start(&home);
    let reported = description(&mut client);
    let pinned = lock(&home);
    // A loaded plugin keeps its pinned tool descriptions, even when its settings change.
    home.configure(&format!("{GRANTED}sample = true\n"));
    client.process().log_with("keeping the approved ones");
    assert_eq!(description(&mut client), reported);
    client.finish();
    // Approval does not help: the next listing differs from the approved one.
    for approved in [false, true] {
        if approved {
            approve(&home, "p");
        }
        let mut client = Client::start(&home);
        assert_eq!(client.tools(), [""; 0]);
        client.process().log_with("held: the plugin holds grants, and its lists have changed");
        assert_eq!(lock(&home)["plugins"]["p"]["surface"] == pinned["plugins"]["p"]["surface"], !approved);
        // `status` says what the server does, and shows why.
        let held = status(&home);
        assert_eq!((&held["state"], &held["code"]), (&json!("held"), &json!("other_words")), "{held}");
        let change = &held["changes"][0];
        assert!(change["what"] == "tool act: description" && change["old"] != change["new"], "{held}");
        assert_eq!(folder_command(&home, &["status"]).status.code(), Some(1));
    }
    home.configure(&format!("{GRANTED}change-lists = true\n"));
    let reported: Vec<String> = (0..2).map(|_| description(&mut Client::start(&home))).collect();
    assert_ne!(reported[0], reported[1]);
}

#[test]
fn a_changing_list_never_runs_under_strict_trust() {
    let home = differing(STRICT);
    for _ in 0..2 {
        approve(&home, "p");
        let mut client = Client::start(&home);
        assert_eq!(client.tools(), [""; 0]);
        client.process().log_with("held: its lists are not the approved ones");
    }
    home.configure(&format!("{STRICT}[plugins.p.grants]\nchange-lists = true\n"));
    approve(&home, "p");
    let reported: Vec<String> = (0..2).map(|_| description(&mut Client::start(&home))).collect();
    assert_ne!(reported[0], reported[1]);
}

/// Where a plugin may change its lists, what it has listed since does not count.
#[test]
fn a_new_version_is_compared_with_the_first_descriptions_and_not_with_later_ones() {
    let settings = format!("{GRANTED}change-lists = true\n");
    let home = home(&settings);
    home.put_bytes(&counting("1"), "p");
    assert_eq!(description(&mut Client::start(&home)), "0 variables");
    home.configure(&format!("{settings}env = {{ PLACE = \"here\" }}\n"));
    assert_eq!(description(&mut Client::start(&home)), "1 variables");
    home.configure(&settings);
    home.put_bytes(&counting("2"), "p");
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "2");
    assert_eq!(description(&mut client), "0 variables");
}

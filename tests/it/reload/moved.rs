//! Moved folders: the plugin folder is whatever its path resolves to at the moment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::TIMEOUT;
use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;

/// Some tests replace folders that the OS sandbox would not allow the host to open again.
const NO_OS_SANDBOX: &str = "[sandbox]\nos-sandbox = false\n";

fn fill(folder: &Path, plugins: &[(&str, &str)]) {
    fs::create_dir_all(folder).expect("a folder");
    for (name, says) in plugins {
        fs::write(folder.join(format!("{name}.wasm")), Guest::returning(says).build()).expect("a file");
    }
}

/// Calls a tool until it returns that; every call until then has an answer.
fn until(client: &mut Client, tool: &str, says: &str) {
    let deadline = Instant::now() + TIMEOUT;
    while client.text(tool, json!({})) != says {
        assert!(Instant::now() < deadline, "{tool} does not return {says}\n{}", client.process().log());
    }
}

/// As deployments do: the new folder is complete before the link is replaced.
#[test]
fn a_retargeted_link_is_followed() {
    let home = Home::new();
    let served = home.path("served");
    fill(&served.join("v1"), &[("p", "one"), ("old", "old")]);
    fill(&served.join("v1/team"), &[("inner", "one")]);
    fill(&served.join("v2"), &[("p", "two"), ("new", "new")]);
    fill(&served.join("v2/team"), &[("inner", "two")]);
    fs::remove_dir(home.plugins()).expect("an empty folder");
    symlink("v1", home.plugins()).expect("a link");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["inner_version", "old_version", "p_version"]);
    symlink("v2", served.join("next")).expect("a link");
    fs::rename(served.join("next"), home.plugins()).expect("a rename over the link");
    until(&mut client, "p_version", "two");
    until(&mut client, "inner_version", "two");
    client.tools_until(|tools| tools == ["inner_version", "new_version", "p_version"]);
    // Changes in the new folder are watched, those in the old one are not.
    fill(&served.join("v2/team"), &[("inner", "three")]);
    until(&mut client, "inner_version", "three");
    fill(&served.join("v1"), &[("late", "late")]);
    fill(&served.join("v2"), &[("later", "later")]);
    let tools = client.tools_until(|tools| tools.contains(&"later_version".to_owned()));
    assert!(!tools.contains(&"late_version".to_owned()), "{tools:?}");
}

#[test]
fn a_removed_or_replaced_parent_folder_is_followed() {
    let home = Home::new();
    home.configure(NO_OS_SANDBOX);
    let served = home.path("served");
    fill(&home.plugins(), &[("p", "one")]);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["p_version"]);
    fs::rename(&served, home.path("away")).expect("a rename");
    client.tools_until(<[String]>::is_empty);
    fs::rename(home.path("away"), &served).expect("a rename");
    client.tools_until(|tools| tools == ["p_version"]);

    // Replaced by another folder: no call is lost.
    fill(&home.path("next/plugins"), &[("p", "two"), ("q", "new")]);
    fs::rename(&served, home.path("away")).expect("a rename");
    fs::rename(home.path("next"), &served).expect("a rename");
    until(&mut client, "p_version", "two");
    client.tools_until(|tools| tools == ["p_version", "q_version"]);
    fill(&home.plugins(), &[("p", "three")]);
    until(&mut client, "p_version", "three");
}

/// The OS sandbox allows the folders that existed at the start.
#[test]
fn an_unreadable_folder_is_logged_once_and_plugins_keep_serving() {
    let home = Home::new();
    home.configure("");
    let served = home.path("served");
    fill(&home.plugins(), &[("p", "one")]);
    fill(&home.path("next/plugins"), &[("p", "two")]);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["p_version"]);
    fs::rename(&served, home.path("away")).expect("a rename");
    fs::rename(home.path("next"), &served).expect("a rename");
    client.process().log_with("read the plugin folder; loaded plugins keep serving");
    let logged = Instant::now();
    while logged.elapsed() < Duration::from_secs(3) {
        assert_eq!(client.text("p_version", json!({})), "one");
    }
    assert_eq!(client.process().log().matches("read the plugin folder").count(), 1);
    fs::rename(&served, home.path("next")).expect("a rename");
    fs::rename(home.path("away"), &served).expect("a rename");
    fill(&home.plugins(), &[("p", "three")]);
    until(&mut client, "p_version", "three");
}

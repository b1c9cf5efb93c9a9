//! Hot reload: tools follow the files in the plugin folder, and no call is lost on a change.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::{Home, component};
use crate::support::process::{Process, command, run};

mod fifo;
mod many;
mod moved;
mod replaced;
mod settings;
mod unreadable_now;

#[test]
fn a_new_file_adds_its_tools() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    home.put_bytes(&Guest::returning("1").build(), "late");
    client.notification("notifications/tools/list_changed");
    let tools = client.tools_until(|tools| tools.len() == 3);
    assert_eq!(tools, ["echo", "echo_add", "late_version"]);
    assert_eq!(client.text("late_version", json!({})), "1");
}

#[test]
fn a_replaced_file_replaces_its_plugin() {
    let home = Home::new();
    home.put("echo-v1", "versioned");
    let mut client = Client::start(&home);
    assert_eq!(client.text("versioned_version", json!({})), "1");
    home.put("echo-v2", "versioned");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("versioned_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the old version still answers");
    }
}

#[test]
fn a_changed_list_is_notified() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").build(), "changing");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["changing_version"]);
    home.put_bytes(&Guest::returning("1").tools(&[("other", r#"{"type":"object"}"#)]).build(), "changing");
    client.notification("notifications/tools/list_changed");
    assert_eq!(client.tools_until(|tools| tools != ["changing_version"]), ["changing_other"]);
}

#[test]
fn a_deleted_file_removes_its_tools() {
    let home = Home::with(&["echo"]);
    home.put_bytes(&Guest::returning("1").build(), "brief");
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 3);
    home.remove("brief");
    client.notification("notifications/tools/list_changed");
    client.tools_until(|tools| tools == ["echo", "echo_add"]);
    let error = client.error("tools/call", json!({"name": "brief_version"}));
    assert_eq!((&error["code"], &error["data"]["reason"]), (&json!(-32602), &json!("tool_not_found")));
}

#[test]
fn a_subscription_stream_is_notified() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    // Plugins found by the first scan are not notified as changes, so the scan must be over.
    client.tools();
    let id = client.post("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let acknowledged = client.notification("notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    home.put_bytes(&Guest::returning("1").build(), "late");
    let changed = client.notification("notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    client.tools_until(|tools| tools.len() == 3);
}

#[test]
fn a_list_without_a_subscription_is_not_notified() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start_modern(&home);
    // Plugins found by the first scan are not notified as changes, so the scan must be over.
    client.tools();
    client.post("subscriptions/listen", json!({"notifications": {"promptsListChanged": true}}));
    client.notification("notifications/subscriptions/acknowledged");
    home.put_bytes(&Guest::returning("1").build(), "late");
    let deadline = Instant::now() + TIMEOUT;
    while client.tools().len() != 3 {
        assert!(Instant::now() < deadline, "the new tool does not appear");
    }
    // A later change of a subscribed list is notified.
    home.put("everything", "everything");
    client.notification("notifications/prompts/list_changed");
    let rest = client.finish();
    assert!(rest.iter().all(|message| message["method"] != "notifications/tools/list_changed"), "{rest:?}");
}

/// A slow writer pauses in the middle until another file has been put into service.
#[test]
fn a_half_written_file_is_not_loaded() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 2);
    let bytes = Guest::returning("whole").build();
    let mut file = OpenOptions::new().create_new(true).append(true).open(home.plugin("slow")).expect("a new file");
    for (i, part) in bytes.chunks(bytes.len() / 2).enumerate() {
        file.write_all(part).and_then(|()| file.flush()).expect("half a file");
        if i == 0 {
            home.put_bytes(&Guest::returning("1").build(), "marker");
            let tools = client.tools_until(|tools| tools.contains(&"marker_version".to_owned()));
            assert!(!tools.contains(&"slow_version".to_owned()));
        }
    }
    drop(file);
    client.tools_until(|tools| tools.contains(&"slow_version".to_owned()));
    assert_eq!(client.text("slow_version", json!({})), "whole");
}

#[test]
fn a_broken_new_version_leaves_the_old_one_serving() {
    let home = Home::new();
    let good = Guest::returning("1").build();
    home.put_bytes(&good, "versioned");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["versioned_version"]);
    let half = good[..good.len() / 2].to_vec();
    for broken in [Vec::new(), b"not wasm".to_vec(), half, Guest::trapping_in_list().build()] {
        home.put_bytes(&broken, "versioned");
        // The marker shows that the folder was scanned after the bad file was written.
        home.put_bytes(&good, "marker");
        client.tools_until(|tools| tools.contains(&"marker_version".to_owned()));
        assert_eq!(client.text("versioned_version", json!({})), "1");
        home.remove("marker");
        client.tools_until(|tools| tools == ["versioned_version"]);
    }
    home.put_bytes(&Guest::returning("2").build(), "versioned");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("versioned_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the repaired version does not serve");
    }
}

#[test]
fn a_file_written_in_place_is_loaded() {
    let home = Home::new();
    fs::write(home.plugin("inplace"), Guest::returning("1").build()).expect("the plugin's file");
    let mut client = Client::start(&home);
    assert_eq!(client.text("inplace_version", json!({})), "1");
    fs::write(home.plugin("inplace"), Guest::returning("2").build()).expect("the plugin's file");
    let deadline = Instant::now() + TIMEOUT;
    while client.text("inplace_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the old version still answers");
    }
}

#[test]
fn many_files_at_once_are_all_loaded() {
    let home = Home::new();
    let mut client = Client::start(&home);
    assert!(client.tools().is_empty());
    let bytes = Guest::returning("1").build();
    for number in 0..40 {
        home.put_bytes(&bytes, &format!("p{number:02}"));
    }
    let tools = client.tools_until(|tools| tools.len() == 40);
    assert!(tools.is_sorted(), "{tools:?}");
    (0..40).for_each(|number| home.remove(&format!("p{number:02}")));
    client.tools_until(<[String]>::is_empty);
}

/// A thousand replacements under two hundred calls a second: each call is answered once, by
/// exactly one version.
#[test]
fn a_thousand_replacements_lose_no_call() {
    const REPLACEMENTS: u32 = 1000;
    const CALLS: u32 = 5 * REPLACEMENTS;
    let pace = Duration::from_millis(5);
    let versions = [Guest::returning("1").build(), Guest::returning("2").build()];
    let home = Home::new();
    home.put_bytes(&versions[0], "versioned");
    let mut client = Client::start(&home);
    assert_eq!(client.text("versioned_version", json!({})), "1");

    let mut open = std::collections::BTreeSet::new();
    let (mut seen, mut switches, mut last) = ([0_u32; 2], 0, 0);
    let started = Instant::now();
    let mut note = |message: &serde_json::Value, open: &mut std::collections::BTreeSet<u64>| {
        if message.get("method").is_some() {
            return;
        }
        let id = message["id"].as_u64().expect("an id of ours");
        assert!(open.remove(&id), "a second or unexpected answer: {message}");
        let version =
            ["1", "2"].iter().position(|v| *v == first_text(&message["result"])).expect("one version or the other");
        seen[version] += 1;
        switches += u32::from(version != last);
        last = version;
    };
    for call in 0..CALLS {
        open.insert(client.post("tools/call", json!({"name": "versioned_version", "arguments": {}})));
        if call % 5 == 0 {
            home.put_bytes(&versions[(call as usize / 5 + 1) % 2], "versioned");
        }
        // Waiting for answers sets the rate of calls.
        while let Some(message) = client.next_before(started + pace * (call + 1)) {
            note(&message, &mut open);
        }
    }
    let deadline = Instant::now() + TIMEOUT;
    while !open.is_empty() {
        let message = client.next_before(deadline).unwrap_or_else(|| panic!("{} calls lost", open.len()));
        note(&message, &mut open);
    }
    assert_eq!(seen[0] + seen[1], CALLS);
    assert!(switches >= 10, "only {switches} replacements were loaded");
    while client.text("versioned_version", json!({})) != "1" {
        assert!(Instant::now() < deadline, "the last version does not serve");
    }
}

#[test]
fn the_echo_guests_are_components() {
    for guest in ["echo", "echo-v1", "echo-v2"] {
        assert!(fs::read(component(guest)).expect("a guest").starts_with(b"\0asm\x0d\0\x01\0"), "{guest}");
    }
}

#[test]
fn a_folder_may_be_given_as_a_relative_path() {
    let home = Home::with(&["echo"]);
    let mut command = command(&home, ["serve", "plugins"]);
    command.current_dir(home.plugins().parent().expect("a folder above"));
    let mut client = Client::initialized(Process::start(command), "2025-11-25");
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    home.put_bytes(&Guest::returning("1").build(), "late");
    client.tools_until(|tools| tools == ["echo", "echo_add", "late_version"]);
    home.remove("echo");
    client.tools_until(|tools| tools == ["late_version"]);
}

#[test]
fn subfolders_are_served_one_level_deep() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    let inner = home.plugins().join("team");
    fs::create_dir_all(inner.join("deeper")).expect("subfolders");
    fs::write(inner.join("deeper/far.wasm"), Guest::returning("1").build()).expect("a file");
    fs::write(inner.join("near.wasm"), Guest::returning("1").build()).expect("a file");
    client.tools_until(|tools| tools == ["echo", "echo_add", "near_version"]);
    fs::write(inner.join("late.wasm"), Guest::returning("1").build()).expect("a file");
    client.tools_until(|tools| tools == ["echo", "echo_add", "late_version", "near_version"]);
    fs::remove_dir_all(&inner).expect("the subfolder is removed");
    client.tools_until(|tools| tools == ["echo", "echo_add"]);
}

#[test]
fn of_two_files_with_one_name_only_the_first_is_served() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("1").build(), "twice");
    fs::create_dir(home.plugins().join("zzz")).expect("a subfolder");
    fs::write(home.plugins().join("zzz/twice.wasm"), Guest::returning("2").build()).expect("a file");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["twice_version"]);
    assert_eq!(client.text("twice_version", json!({})), "1");
    home.remove("twice");
    // The first one serves until the second is loaded, and clients see no change of the list.
    let deadline = Instant::now() + TIMEOUT;
    while client.text("twice_version", json!({})) != "2" {
        assert!(Instant::now() < deadline, "the other file is not loaded");
    }
    assert_eq!(client.tools(), ["twice_version"]);
    let rest = client.finish();
    assert!(rest.iter().all(|message| message["method"] != "notifications/tools/list_changed"), "{rest:?}");
}

/// A copy, a backup or a file of somebody else cannot take a plugin's name, whatever its own name sorts by.
#[test]
fn a_file_with_exactly_the_plugins_name_is_served() {
    let home = Home::new();
    home.put_bytes(&Guest::returning("own").build(), "a-b");
    for other in ["A.B", "a b"] {
        home.put_bytes(&Guest::returning("other").build(), other);
    }
    fs::create_dir(home.plugins().join("Backup")).expect("a subfolder");
    fs::write(home.plugins().join("Backup/a-b.wasm"), Guest::returning("old").build()).expect("a file");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["a-b_version"]);
    assert_eq!(client.text("a-b_version", json!({})), "own");
    let folder = home.plugins();
    for command in ["check", "status"] {
        let output = run(&home, [command.as_ref(), folder.as_os_str()]);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {reported}");
        for other in ["A.B.wasm", "a b.wasm", "Backup/a-b.wasm"] {
            assert!(reported.contains(&format!("{other}: failed to use the plugin's name")), "{command}: {reported}");
        }
        assert!(reported.contains("rename it to NAME.wasm"), "{command}: {reported}");
    }
}

/// As on a removable disk.
#[test]
fn a_removed_and_recreated_folder_is_followed() {
    let home = Home::with(&["echo"]);
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["echo", "echo_add"]);
    fs::remove_dir_all(home.plugins()).expect("the folder is removed");
    client.tools_until(<[String]>::is_empty);
    fs::create_dir(home.plugins()).expect("the folder is created");
    home.put_bytes(&Guest::returning("1").build(), "back");
    client.tools_until(|tools| tools == ["back_version"]);
    home.put_bytes(&Guest::returning("1").build(), "more");
    client.tools_until(|tools| tools == ["back_version", "more_version"]);
}

#[test]
fn each_list_is_notified_separately() {
    let home = Home::with(&["echo"]);
    let mut handshake = Client::start(&home);
    let mut listener = Client::start_modern(&home);
    handshake.tools();
    listener.tools();
    listener.post("subscriptions/listen", json!({"notifications": {"resourcesListChanged": true}}));
    let acknowledged = listener.notification("notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"resourcesListChanged": true}));
    home.put("everything", "everything");
    for list in ["tools", "prompts", "resources"] {
        handshake.notification(&format!("notifications/{list}/list_changed"));
    }
    listener.notification("notifications/resources/list_changed");
    // A plugin with only tools changes no other list.
    home.put_bytes(&Guest::returning("1").build(), "late");
    handshake.notification("notifications/tools/list_changed");
    handshake.tools_until(|tools| tools.iter().any(|tool| tool == "late_version"));
    for client in [handshake, listener] {
        let rest = client.finish();
        let is_notified =
            |list: &str| rest.iter().any(|message| message["method"] == format!("notifications/{list}/list_changed"));
        assert!(!is_notified("prompts") && !is_notified("resources"), "{rest:?}");
    }
}

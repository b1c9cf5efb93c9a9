//! An unwritable pin file: no version gets grants that cannot be pinned.

use super::*;

/// A folder at this path makes writing the pin file fail, even for root, as a full disk or a
/// read-only folder would.
fn in_the_way(home: &Home) -> std::path::PathBuf {
    home.path("state/wharf/lock.toml.next")
}

#[test]
fn no_new_version_runs_with_grants_until_it_can_be_pinned() {
    let home = home(&format!("{GRANTED}[plugins.q.grants]\nelicit = true\n"));
    let mut client = Client::start(&home);
    assert_eq!(client.text("p_version", json!({})), "1");
    fs::create_dir(in_the_way(&home)).expect("a folder");
    home.put_bytes(&version("2", "Does a thing."), "p");
    home.put_bytes(&version("new", "Does a thing."), "q");
    home.put_bytes(&version("free", "Does a thing."), "r");
    let expected = "held: it must be pinned, and the pin file cannot be written";
    let log = client.process().log_with("plugin=q");
    assert!(log.contains("write the pin file") && log.contains("free disk space"), "{log}");
    client.process().log_with(expected);
    client.tools_until(|tools| tools == ["p_version", "p_act", "r_version", "r_act"]);
    assert_eq!(client.text("p_version", json!({})), "1");
    assert_eq!(client.text("r_version", json!({})), "free");
    let held = status(&home);
    assert_eq!((&held["state"], &held["code"]), (&json!("held"), &json!("not_kept")), "{held}");
    assert!(held["hint"].as_str().is_some_and(|hint| hint.contains("pin = \"blake3:")), "{held}");

    // A server that starts now serves what is pinned.
    let mut second = Client::start(&home);
    let tools = second.tools();
    assert!(!tools.iter().any(|tool| tool.starts_with("q_") || tool.starts_with("p_")), "{tools:?}");
    home.put_bytes(&version("1", "Does a thing."), "p");
    second.tools_until(|tools| tools.contains(&"p_version".to_owned()));
    drop(second);
    home.put_bytes(&version("2", "Does a thing."), "p");

    fs::remove_dir(in_the_way(&home)).expect("the folder is removed");
    client.tools_until(|tools| tools.contains(&"q_version".to_owned()));
    until(&mut client, "2");
    assert_eq!(status(&home)["state"], "runs");
}

/// A digest pinned in the configuration does not need the pin file.
#[test]
fn a_digest_pinned_in_the_configuration_runs_without_the_pin_file() {
    let held = home(GRANTED);
    fs::create_dir_all(in_the_way(&held)).expect("a folder");
    let mut client = Client::start(&held);
    assert_eq!(client.tools(), [""; 0]);
    let hint = status(&held)["hint"].take();
    let hint = hint.as_str().expect("a hint").to_owned();
    let pin = hint.split('"').nth(1).expect("a content").to_owned();
    held.configure(&format!("[plugins.p]\npin = \"{pin}\"\n{GRANTED}"));
    client.tools_until(|tools| tools == ["p_version", "p_act"]);
    assert_eq!(client.text("p_version", json!({})), "1");
}

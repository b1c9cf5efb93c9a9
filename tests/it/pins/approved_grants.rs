//! An approval is for the grants that were shown. Commands in hints read the same configuration.

use std::path::PathBuf;

use super::commands::err;
use super::*;
use crate::support::process::{command, run_hint};

/// A configuration file besides the user's own.
fn other(home: &Home, text: &str) -> PathBuf {
    let file = home.path("config/other.toml");
    fs::write(&file, text).expect("a file");
    file
}

fn serve_with(home: &Home, config: &std::path::Path) -> Client {
    let folder = home.plugins();
    let words = ["--config".as_ref(), config.as_os_str(), "serve".as_ref(), folder.as_os_str()];
    Client::initialized(Process::start(command(home, words)), "2025-11-25")
}

#[test]
fn an_approval_under_another_configuration_does_not_hold() {
    let home = home("");
    let config = other(&home, GRANTED);
    let mut client = serve_with(&home, &config);
    assert_eq!(client.text("p_version", json!({})), "1");
    home.put_bytes(&version("2", "Does another thing."), "p");
    let log = client.process().log_with("held: the plugin holds grants, and its lists have changed");
    let expected = format!("wharf --config {} status {}", config.display(), home.plugins().display());
    assert!(log.contains(&expected), "{log}");

    // The hint without its option: the approval shows that nothing is granted.
    let output = folder_command(&home, &["approve", "--yes", "p"]);
    assert!(output.status.success() && err(&output).contains("granted  nothing"), "{}", err(&output));
    let log = client.process().log_with("it was approved without these grants, which the configuration has: elicit");
    assert_eq!(client.text("p_version", json!({})), "1");
    let words = ["--config", config.to_str().expect("UTF-8"), "status", "--json"];
    let held: Value = serde_json::from_slice(&folder_command(&home, &words).stdout).expect("JSON");
    assert_eq!((&held["plugins"][0]["state"], &held["plugins"][0]["code"]), (&json!("held"), &json!("other_grants")));
    // Nor in a server that starts later.
    let mut second = serve_with(&home, &config);
    assert_eq!(second.tools(), [""; 0]);

    let hint = log.rsplit("held: it was approved").next().expect("the line");
    let approved = run_hint(&home, hint, "to approve it:");
    assert!(approved.status.success() && err(&approved).contains("granted  elicit"), "{}", err(&approved));
    until(&mut client, "2");
    second.tools_until(|tools| tools.len() == 2);
}

#[test]
fn an_approved_version_is_held_when_its_grants_grow_and_not_when_they_shrink() {
    let home = home(&format!("{STRICT}[plugins.p.grants]\nelicit = true\nroots = true\n"));
    approve(&home, "p");
    let recorded = lock(&home)["plugins"]["p"]["approved-grants"].clone();
    assert_eq!(recorded.as_array().map(Vec::len), Some(2), "{recorded}");
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 2);
    home.configure(&format!("{STRICT}{GRANTED}"));
    client.process().log_with("settings reloaded");
    assert_eq!(client.text("p_version", json!({})), "1");
    home.configure(&format!("{STRICT}{GRANTED}http = [\"https://a.example\"]\n"));
    client.process().log_with("which the configuration has: http \"https://a.example\"");
    client.tools_until(|tools| tools.is_empty());
    approve(&home, "p");
    client.tools_until(|tools| tools.len() == 2);
}

/// Approvals of earlier versions have no grants.
#[test]
fn an_approval_without_recorded_grants_stays_valid() {
    let home = home(STRICT);
    approve(&home, "p");
    let file = home.path("state/wharf/lock.toml");
    let text = fs::read_to_string(&file).expect("the pin file");
    let old: String =
        text.lines().filter(|line| !line.starts_with("approved-grants")).map(|line| format!("{line}\n")).collect();
    assert_ne!(old, text);
    fs::write(&file, old).expect("the pin file");
    home.configure(&format!("{STRICT}{GRANTED}"));
    let mut client = Client::start(&home);
    client.tools_until(|tools| tools.len() == 2);
}

//! Grants: a missing grant is reported to the plugin, the client and the log, and a change of the
//! file applies from the next call on.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::process::{Process, run};
use crate::support::{MODERN, TIMEOUT};

const KEYVALUE: &str = "[plugins.notes.grants]\nkeyvalue = true\n";

/// Calls until the predicate accepts the result.
fn call_until(client: &mut Client<Process>, tool: &str, wanted: impl Fn(&Value) -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let result = client.call(tool, json!({}));
        if wanted(&result) {
            return;
        }
        assert!(Instant::now() < deadline, "still {result}");
    }
}

fn denied(result: &Value) -> bool {
    result["_meta"]["wharf/fault"]["code"] == "denied"
}

fn served(result: &Value) -> bool {
    result.get("isError").is_none()
}

#[test]
fn a_question_without_a_grant_is_denied_and_logged() {
    for revision in ["2025-11-25", MODERN] {
        let home = Home::with(&[]);
        home.put("everything", "stranger");
        let everything = json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}}});
        let mut client = Client::with_capabilities(Process::serve(&home), revision, everything);
        let questions = [
            ("test_elicitation", json!({"message": "?"}), "elicit"),
            ("test_sampling", json!({"prompt": "?"}), "sample"),
            ("test_roots", json!({}), "roots"),
        ];
        for (tool, arguments, access) in questions {
            let result = client.call(&format!("stranger_{tool}"), arguments);
            assert_eq!(result["isError"], true, "{result}");
            let fault = json!({"plugin": "stranger", "code": "denied", "access": access});
            assert_eq!(result["_meta"]["wharf/fault"], fault, "{result}");
            let text = first_text(&result);
            assert!(text.contains("'stranger'") && text.contains(&format!("missing grant `{access}`")), "{text}");
            assert!(!text.contains(home.path("").to_str().expect("UTF-8")), "{text}");
            let log = client.process().log_with(&format!("put `{access} = true` under `[plugins.stranger.grants]`"));
            assert!(log.contains("wharf.toml"), "{log}");
        }
    }
}

/// Logged once per load, however often access is denied.
#[test]
fn a_denial_is_logged_once() {
    let home = Home::with(&["notes"]);
    let mut client = Client::start_modern(&home);
    for _ in 0..5 {
        let result = client.call("notes_list", json!({}));
        assert_eq!(result["_meta"]["wharf/fault"]["access"], "keyvalue", "{result}");
    }
    let log = client.process().log_with("put `keyvalue = true`");
    assert_eq!(log.matches("put `keyvalue = true`").count(), 1, "{log}");
}

#[test]
fn changed_grants_are_reloaded() {
    let home = Home::with(&["notes"]);
    home.configure("");
    let mut client = Client::start_modern(&home);
    assert!(denied(&client.call("notes_list", json!({}))));
    home.configure(KEYVALUE);
    call_until(&mut client, "notes_list", served);
    home.configure("");
    call_until(&mut client, "notes_list", denied);
    // An invalid file changes nothing: it neither grants nor revokes.
    home.configure(KEYVALUE);
    call_until(&mut client, "notes_list", served);
    home.configure("[plugins.notes.grants]\nkeyvalu = true\n");
    let log = client.process().log_with("configuration not reloaded");
    assert!(log.contains("keyvalu") && log.contains("did you mean `keyvalue`?"), "{log}");
    assert!(served(&client.call("notes_list", json!({}))));
    fs::remove_file(home.path("config/wharf/wharf.toml")).expect("the settings file");
    call_until(&mut client, "notes_list", denied);
}

#[test]
fn changed_limits_are_reloaded() {
    let home = Home::new();
    home.put_bytes(&Guest::spinning().build(), "hostile");
    home.configure("[limits]\ncpu = \"50ms\"\n");
    let mut client = Client::start_modern(&home);
    let tool = client.tools().remove(0);
    let limit = |result: &Value| result["_meta"]["wharf/fault"]["limit"].as_u64();
    assert_eq!(limit(&client.call(&tool, json!({}))), Some(50));
    home.configure("[limits]\ncpu = \"40ms\"\n");
    call_until(&mut client, &tool, |result| limit(result) == Some(40));
}

/// A misspelt name in the configuration would silently grant nothing.
#[test]
fn settings_of_a_plugin_that_is_not_there_are_reported_with_the_nearest_name() {
    let home = Home::with(&["notes"]);
    home.configure("[plugins.note.grants]\nkeyvalue = true\n");
    let expected = "no plugin in ";
    let near = "is called note; did you mean notes?";
    for words in [&["list"][..], &["status"], &["check"]] {
        let output = run(&home, words.iter().map(AsRef::as_ref).chain([home.plugins().as_os_str()]));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(expected) && text.contains(near), "{text}");
        // Those of plugins in other folders have names of their own.
        assert!(!text.contains("asker") && !text.contains("survey"), "{text}");
    }
    let folder = home.plugins();
    let call = ["call".as_ref(), folder.as_os_str(), "notes_list".as_ref()];
    let text = String::from_utf8_lossy(&run(&home, call).stderr).into_owned();
    assert!(text.contains(near), "{text}");
    let log = Client::start(&home).process().log_with(near);
    assert_eq!(log.matches(near).count(), 1, "{log}");
    home.configure(KEYVALUE);
    let output = run(&home, ["list".as_ref(), home.plugins().as_os_str()]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains(expected), "{text}");
}

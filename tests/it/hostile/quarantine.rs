//! Quarantine of plugins that fail repeatedly.

use std::time::Instant;

use serde_json::{Value, json};

use super::{fault, home_of, unharmed};
use crate::support::TIMEOUT;
use crate::support::client::{Client, first_text};
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;

fn code(result: &Value) -> &str {
    result["_meta"]["wharf/fault"]["code"].as_str().unwrap_or("none")
}

/// Calls until the quarantine is over.
fn call_until_called(client: &mut Client, tool: &str) -> Value {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let result = client.call(tool, json!({}));
        if code(&result) != "quarantined" {
            return result;
        }
        assert!(Instant::now() < deadline, "still {result}");
    }
}

#[test]
fn a_plugin_that_fails_repeatedly_is_quarantined() {
    let home = home_of(&Guest::returning("1").does("crash", bodies::TRAP));
    let mut client = Client::start(&home);
    let tools = client.tools();
    for _ in 0..5 {
        fault(&mut client, "hostile", "crash", "trap");
    }
    let result = client.call("hostile_version", json!({}));
    assert_eq!(code(&result), "quarantined", "{result}");
    assert!(first_text(&result).ends_with("Try again in 1 s."), "{result}");
    // The list is unchanged: otherwise a plugin could cause notifications at will.
    assert_eq!(client.tools(), tools);
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    let log = client.process().log_with("quarantined");
    assert_eq!(log.matches("quarantined").count(), 1, "{log}");

    // The first call after the pause is a probe; if it fails, the pause doubles.
    assert_eq!(code(&call_until_called(&mut client, "hostile_crash")), "trap");
    let result = client.call("hostile_version", json!({}));
    assert!(first_text(&result).ends_with("Try again in 2 s."), "{result}");
    let result = call_until_called(&mut client, "hostile_version");
    assert_eq!(first_text(&result), "1");
    assert_eq!(client.text("hostile_version", json!({})), "1");
    unharmed(client);
}

#[test]
fn a_new_version_is_not_quarantined_for_the_old_one() {
    let home = home_of(&Guest::returning("1").does("crash", bodies::TRAP));
    let mut client = Client::start(&home);
    client.tools();
    for _ in 0..5 {
        fault(&mut client, "hostile", "crash", "trap");
    }
    assert_eq!(code(&client.call("hostile_version", json!({}))), "quarantined");
    home.put_bytes(&Guest::returning("2").build(), "hostile");
    client.tools_until(|tools| tools == ["echo", "echo_add", "hostile_version"]);
    assert_eq!(client.text("hostile_version", json!({})), "2");
    unharmed(client);
}

/// Errors that the plugin returns, and arguments refused before the call, are not faults.
#[test]
fn errors_of_a_plugin_do_not_quarantine_it() {
    let home = Home::with(&["everything", "echo"]);
    let mut client = Client::start(&home);
    client.tools();
    for _ in 0..10 {
        assert_eq!(client.call("everything_test_error_handling", json!({}))["isError"], true);
        assert_eq!(code(&client.call("echo_add", json!({"a": "no number"}))), "bad-input");
    }
    assert_eq!(code(&client.call("everything_test_error_handling", json!({}))), "none");
    unharmed(client);
}

//! Hostile plugins, several at once or repeatedly; `tests/hostile` has single attacks. Whatever
//! they do, the process survives, each request gets exactly one answer, each line on stdout is a
//! message, and the other plugins answer.

mod attribution;
mod quarantine;
mod time;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;

/// A home with the bystander `echo` and that guest as `hostile`.
fn home_of(guest: &Guest) -> Home {
    let home = Home::with(&["echo"]);
    home.put_bytes(&guest.build(), "hostile");
    home
}

/// Calls a tool of that plugin, which must fail with that fault.
fn fault(client: &mut Client, plugin: &str, tool: &str, code: &str) {
    let result = client.call(&format!("{plugin}_{tool}"), json!({}));
    assert_fault(&result, plugin, code);
}

/// A fault is a result that names the plugin and has a machine-readable code.
fn assert_fault(result: &Value, plugin: &str, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["_meta"]["wharf/fault"]["plugin"], plugin, "{result}");
    assert_eq!(result["_meta"]["wharf/fault"]["code"], code, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"));
    assert!(text.contains(plugin) && text.chars().count() < 400, "{text}");
}

/// Checks what must hold after every attack. The client itself panics on lines that are not
/// messages; unrequested answers remain in its queue.
fn unharmed(mut client: Client) {
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    client.result("ping", json!({}));
    let log = client.process().log();
    assert!(!log.contains("panicked"), "{log}");
    let rest = client.finish();
    assert!(rest.iter().all(|message| message.get("id").is_none()), "answers without a request: {rest:?}");
}

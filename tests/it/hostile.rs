//! Plugins that mean harm, several at once or again and again, beside what `tests/hostile` has
//! of each alone. Whatever one does, the process lives, each request gets exactly one answer,
//! each line on stdout is a message, and the other plugins answer.

mod apart;
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

/// Calls a tool of that plugin, which must fail by its own fault.
fn fault(client: &mut Client, plugin: &str, tool: &str, code: &str) {
    let result = client.call(&format!("{plugin}_{tool}"), json!({}));
    assert_fault(&result, plugin, code);
}

/// A fault is told as a result that names the plugin and gives a code for programs.
fn assert_fault(result: &Value, plugin: &str, code: &str) {
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result["_meta"]["wharf/fault"]["plugin"], plugin, "{result}");
    assert_eq!(result["_meta"]["wharf/fault"]["code"], code, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"));
    assert!(text.contains(plugin) && text.chars().count() < 400, "{text}");
}

/// What holds after every attack. The client has refused each line that is no message, and
/// what nobody asked for is left over here.
fn unharmed(mut client: Client) {
    assert_eq!(client.text("echo", json!({"message": "still here"})), "still here");
    client.result("ping", json!({}));
    let log = client.process().log();
    assert!(!log.contains("panicked"), "{log}");
    let rest = client.finish();
    assert!(rest.iter().all(|message| message.get("id").is_none()), "answers that nobody asked for: {rest:?}");
}

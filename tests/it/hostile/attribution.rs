//! Attribution: faults are reported for the right plugin, and similar names are logged.

use serde_json::json;

use super::{home_of, unharmed};
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;

#[test]
fn simultaneous_crashes_are_attributed_correctly() {
    let guest = Guest::returning("1").does("trap", bodies::TRAP).does("memory", bodies::TAKE_MEMORY);
    let (home, plugins) = (Home::with(&["echo"]), ["one", "two", "three", "four"]);
    for plugin in plugins {
        home.put_bytes(&guest.build(), plugin);
    }
    let mut client = Client::start(&home);
    client.tools();
    let mut pending = Vec::new();
    for tool in ["trap", "memory", "version", "trap", "memory", "version"] {
        for plugin in plugins {
            pending.push((client.post("tools/call", json!({"name": format!("{plugin}_{tool}")})), tool));
        }
    }
    for (id, tool) in pending {
        let answer = client.answer(id);
        let code = &answer["result"]["_meta"]["wharf/fault"]["code"];
        match tool {
            "version" => assert_eq!(answer["result"]["content"][0]["text"], "1", "{answer}"),
            _ => assert_eq!(code, tool, "{answer}"),
        }
    }
    unharmed(client);
}

#[test]
fn a_name_similar_to_anothers_is_logged() {
    let home = home_of(&Guest::returning("1"));
    let mut client = Client::start(&home);
    client.tools();
    home.put_bytes(&Guest::returning("2").build(), "h0stile");
    client.tools_until(|tools| tools.contains(&"h0stile_version".to_owned()));
    client.process().log_with("plugin 'h0stile' has a name similar to that of plugin 'hostile'");
    unharmed(client);
}

//! Pagination: a cursor is valid only for the list that it was issued for.

use serde_json::json;

use crate::support::client::Client;
use crate::support::guest::Guest;
use crate::support::home::Home;

fn paged(plugins: &[&str]) -> Home {
    let home = Home::new();
    home.configure("[server]\npage-size = 2\n");
    for plugin in plugins {
        home.put_bytes(&Guest::returning("1").build(), plugin);
    }
    home
}

#[test]
fn all_pages_together_are_the_complete_list() {
    let home = paged(&["a", "b", "c", "d", "e"]);
    for mut client in [Client::start(&home), Client::start_modern(&home)] {
        let mut names = Vec::new();
        let mut sizes = Vec::new();
        let mut params = json!({});
        loop {
            let page = client.result("tools/list", params);
            let tools = page["tools"].as_array().expect("a list of tools");
            sizes.push(tools.len());
            names.extend(tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
            let Some(cursor) = page.get("nextCursor") else { break };
            params = json!({ "cursor": cursor });
        }
        assert_eq!(sizes, [2, 2, 1]);
        assert_eq!(names, ["a_version", "b_version", "c_version", "d_version", "e_version"]);
    }
}

#[test]
fn p34_a_cursor_of_a_list_that_has_changed_is_refused() {
    let home = paged(&["a", "b", "c"]);
    let mut client = Client::start(&home);
    let cursor = client.result("tools/list", json!({}))["nextCursor"].clone();
    assert!(client.result("tools/list", json!({ "cursor": cursor })).get("nextCursor").is_none());
    home.remove("a");
    client.notification("notifications/tools/list_changed");
    let error = client.error("tools/list", json!({ "cursor": cursor }));
    assert_eq!((error["code"].as_i64(), error["data"]["reason"].as_str()), (Some(-32602), Some("invalid_cursor")));
}

#[test]
fn p34_a_cursor_with_a_changed_letter_is_refused() {
    let home = paged(&["a", "b", "c"]);
    let mut client = Client::start(&home);
    let page = client.result("tools/list", json!({}));
    let cursor = page["nextCursor"].as_str().expect("a cursor");
    for at in 0..cursor.len() {
        let mut forged = cursor.to_owned();
        let other = if &cursor[at..=at] == "A" { "B" } else { "A" };
        forged.replace_range(at..=at, other);
        let error = client.error("tools/list", json!({ "cursor": forged }));
        assert_eq!(error["code"].as_i64(), Some(-32602), "{forged}");
    }
}

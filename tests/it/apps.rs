//! MCP Apps: pages that chat clients show. What plugins say of them is checked and limited.
//!
//! A page is shown by a browser in `tests/clients/apps.mjs`.

use std::fs;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::home::{Home, component};
use crate::support::process::run;

const GOOD: &str = "ui://pages/good.html";

fn listed(client: &mut Client, uri: &str) -> Value {
    let resources = client.result("resources/list", json!({}))["resources"].take();
    let page = resources.as_array().into_iter().flatten().find(|page| page["uri"] == uri);
    page.unwrap_or_else(|| panic!("{uri} is not listed")).clone()
}

/// What the list and the contents say of a page.
fn said_of(client: &mut Client, uri: &str) -> Value {
    let read = client.result("resources/read", json!({ "uri": uri }));
    let (listed, contents) = (listed(client, uri), &read["contents"][0]);
    assert_eq!(listed["_meta"], contents["_meta"], "the list and the contents differ");
    contents["_meta"]["ui"].clone()
}

#[test]
fn the_extension_is_declared_whatever_plugins_there_are() {
    let home = Home::new();
    let mut client = Client::start_modern(&home);
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(discovered["capabilities"]["extensions"]["io.modelcontextprotocol/ui"], json!({}));
}

#[test]
fn what_is_wrong_with_pages_is_said() {
    let home = Home::with(&["pages"]);
    let checked = run(&home, ["check".as_ref(), component("pages").as_os_str()]);
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    let mut client = Client::start(&home);
    client.result("tools/list", json!({}));
    for wrong in [
        "dropped the resource 'ui://pages/escaping.html': its meta has in its csp an entry that is no origin: \
         connectDomains: \"https://a.example; script-src *\"",
        "the tool 'lost': its page is not among the plugin's resources: ui://pages/none.html",
        "the tool 'web': its page is not a URI that begins with ui://: \"https://pages.example/none.html\"",
        "the tool 'odd': its visibility is neither model nor app: \"everyone\"",
        "the page 'ui://pages/changing.html': it asks for a permission that is not known: nose",
        "the page 'ui://pages/plain.html': clients do not show it: its media type is not text/html;profile=mcp-app",
        "the page 'ui://elsewhere/page.html': another plugin may have it: its URI does not begin with ui://pages/",
        "the page 'ui://pages/changing.html': its contents are not pinned: it differs each time that it is read",
        "the page 'ui://pages/late.html': its contents are not pinned: it cannot be read when the plugin is loaded: \
         bad-output",
        "the page 'ui://pages/good.html': it asks for what the plugin is not granted, and does not get it: \
         https://api.example.org, https://other.example.org, camera",
    ] {
        assert!(checked.contains(wrong), "{wrong}\n{checked}");
        client.process().log_with(wrong);
    }
}

#[test]
fn a_policy_that_says_more_than_origins_reaches_no_client() {
    let home = Home::with(&["pages"]);
    let mut client = Client::start(&home);
    let error = client.error("resources/read", json!({ "uri": "ui://pages/escaping.html" }));
    assert_eq!(error["data"]["reason"], "resource_not_found", "{error}");
    let error = client.error("resources/read", json!({ "uri": "ui://pages/late.html" }));
    assert_eq!(error["data"]["code"], "bad-output", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("no origin: frameDomains")), "{error}");
}

#[test]
fn pages_reach_what_their_plugin_may_reach() {
    let home = Home::with(&["pages"]);
    let mut client = Client::start(&home);
    let nothing = json!({ "csp": { "connectDomains": [] }, "prefersBorder": true });
    assert_eq!(said_of(&mut client, GOOD), nothing);
    let origins = ["https://api.example.org", "https://other.example.org"];
    let declared = json!({
        "csp": { "connectDomains": origins },
        "permissions": { "camera": {} },
        "prefersBorder": true,
    });
    let granted = json!({ "csp": { "connectDomains": [origins[0]] }, "prefersBorder": true });
    let grant = "grants.http = [\"https://api.example.org\", \"https://other.example.org/v1\"]\n";
    // Each time clients are told that the list has changed.
    for (pages, said) in [("granted", granted), ("declared", declared), ("none", nothing)] {
        home.configure(&format!("[plugins.pages]\npages = \"{pages}\"\n{grant}"));
        client.notification("notifications/resources/list_changed");
        assert_eq!(said_of(&mut client, GOOD), said, "{pages}");
    }
    let (file, folder) = (home.plugin("pages"), home.plugins());
    for words in [["check".as_ref(), file.as_os_str()], ["status".as_ref(), folder.as_os_str()]] {
        let shown = String::from_utf8_lossy(&run(&home, words).stdout).into_owned();
        assert!(shown.contains("  pages    none\n"), "{shown}");
    }
}

#[test]
fn tools_for_pages_alone_are_not_found_and_can_be_called() {
    let home = Home::with(&["pages"]);
    home.configure("[server]\ndiscovery = true\n");
    let mut client = Client::start(&home);
    assert!(client.tools().contains(&"pages_fresh".to_owned()), "clients decide what they show");
    let found = client.call("find_tools", json!({}))["structuredContent"]["tools"].take();
    let found: Vec<_> = found.as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
    assert_eq!(found, ["pages_good", "pages_change", "pages_lost", "pages_web", "pages_odd"]);
    assert_eq!(client.text("pages_fresh", json!({})), "done");
    assert_eq!(client.text("call_tool", json!({ "name": "pages_fresh" })), "done");
}

/// A page calls other tools of its plugin by their own names.
#[test]
fn a_page_learns_what_the_names_of_its_tools_begin_with() {
    let home = Home::with(&["pages"]);
    let plugin = |client: &mut Client, tool: &str| client.call(tool, json!({}))["_meta"]["wharf/plugin"].clone();
    let mut client = Client::start(&home);
    assert_eq!(plugin(&mut client, "pages_good"), "pages");
    assert_eq!(plugin(&mut client, "pages_fresh"), Value::Null, "it has no page");
    home.configure("[plugins.pages]\nprefix = false\n");
    client.tools_until(|names| names.contains(&"good".to_owned()));
    assert_eq!(plugin(&mut client, "good"), Value::Null);
}

fn text_of(client: &mut Client, uri: &str) -> String {
    let read = client.result("resources/read", json!({ "uri": uri }));
    read["contents"][0]["text"].as_str().expect("a text").to_owned()
}

#[test]
fn another_page_under_the_same_descriptions_waits_for_approval() {
    let home = Home::with(&["pages"]);
    home.configure("[plugins.pages.grants]\nelicit = true\n");
    let mut client = Client::start(&home);
    assert!(text_of(&mut client, GOOD).contains("<p>here"));
    let component = fs::read(component("pages")).expect("a component");
    let mut changed = component.clone();
    let places: Vec<_> = (0..component.len()).filter(|at| component[*at..].starts_with(b"<p>here")).collect();
    places.iter().for_each(|at| changed[at + 3..at + 7].copy_from_slice(b"near"));
    assert!(!places.is_empty());
    home.put_bytes(&changed, "pages");
    client.process().log_with("held");
    assert!(text_of(&mut client, GOOD).contains("<p>here"));
    let folder = home.plugins();
    let approved = run(&home, ["approve".as_ref(), "--yes".as_ref(), "pages".as_ref(), folder.as_os_str()]);
    let shown = String::from_utf8_lossy(&approved.stderr).into_owned();
    assert!(approved.status.success() && shown.contains("page ui://pages/good.html: content"), "{shown}");
    client.notification("notifications/resources/list_changed");
    assert!(text_of(&mut client, GOOD).contains("<p>near"));
}

#[test]
fn a_page_that_is_not_the_pinned_one_is_refused() {
    let home = Home::with(&["pages"]);
    home.configure("[plugins.pages.grants]\nkeyvalue = true\n");
    let mut client = Client::start(&home);
    assert!(text_of(&mut client, "ui://pages/stored.html").ends_with("false"));
    assert_eq!(client.text("pages_change", json!({})), "done");
    let error = client.error("resources/read", json!({ "uri": "ui://pages/stored.html" }));
    assert_eq!(error["data"]["code"], "bad-output", "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("not the one which is pinned")), "{error}");
    // What differs each time is not pinned.
    let changing = "ui://pages/changing.html";
    assert_ne!(text_of(&mut client, changing), text_of(&mut client, changing));
}

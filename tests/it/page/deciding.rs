//! Decisions on the page: as those of `wharf approve` and `wharf revoke`, and only on what was shown.

use std::time::Instant;

use super::*;

const STRICT: &str = "[server]\ntrust = \"strict\"\n";

fn version(answer: &str, description: &str) -> Vec<u8> {
    Guest::returning(answer).described("act", description).build()
}

/// What is sent to approve what was shown.
fn approval(shown: &Value) -> Value {
    json!({
        "plugin": shown["plugin"],
        "content": shown["content"],
        "terms": shown["terms"],
        "surface": shown.get("surface").cloned().unwrap_or_default(),
    })
}

fn review(page: &Page, name: &str) -> Value {
    let (status, shown) = page.post("/api/review", &json!({"plugin": name}));
    assert_eq!(status, 200, "{shown}");
    shown
}

/// The output of a command on the plugin folder.
fn said(home: &Home, words: &[&str]) -> String {
    let folder = home.plugins();
    let output = run(home, words.iter().map(|word| word.as_ref()).chain([folder.as_os_str()]));
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn an_approval_has_the_effect_of_the_command() {
    let home = Home::new();
    home.configure(STRICT);
    home.put_bytes(&version("1", "Does a thing."), "p");
    let (mut client, page) = start(&home);
    let held = page.plugin_when("p", |own| own["state"] == "held");
    assert_eq!(held["approvable"], true, "{held}");
    let shown = review(&page, "p");
    assert_eq!(shown["content"], held["content"]);
    assert!(shown["diff"].as_str().is_some_and(|diff| diff.contains("Does a thing.")), "{shown}");
    let (status, done) = page.post("/api/approve", &approval(&shown));
    assert_eq!(status, 200, "{done}");
    page.plugin_when("p", |own| own["state"] == "runs" && own.get("newer").is_none());
    assert_eq!(client.text("p_act", json!({})), "1");
    let status: Value = serde_json::from_str(&said(&home, &["status", "--json"])).expect("JSON");
    assert_eq!(status["plugins"][0]["state"], "runs", "{status}");
    assert_eq!(status["plugins"][0]["pinned"]["approved"], true, "{status}");
    // The next version is compared with it.
    home.put_bytes(&version("2", "Does another thing."), "p");
    page.plugin_when("p", |own| own["newer"]["state"] == "held");
    let shown = review(&page, "p");
    let diff = shown["diff"].as_str().unwrap_or_default();
    assert!(diff.contains("- Does a thing.") && diff.contains("+ Does another thing."), "{diff}");
    assert_eq!(page.post("/api/approve", &approval(&shown)).0, 200);
    let deadline = Instant::now() + TIMEOUT;
    while client.text("p_act", json!({})) != "2" {
        assert!(Instant::now() < deadline);
    }
    client.finish();
    let log = run(&home, ["audit", "show", "--json", "--event", "approve"]);
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(log.contains(r#""by":"operator""#), "{log}");
}

#[test]
fn all_that_it_may_do_and_why_it_waits_is_shown() {
    let home = Home::new();
    home.configure(&format!("{STRICT}[plugins.p.grants]\nkeyvalue = true\nchange-lists = true\n"));
    home.put_bytes(&version("1", "Does a thing."), "p");
    let (client, page) = start(&home);
    let held = page.plugin_when("p", |own| own["state"] == "held");
    let shown = review(&page, "p");
    let granted = shown["granted"].to_string();
    assert!(granted.contains("keyvalue") && granted.contains("its descriptions may change later"), "{shown}");
    assert_eq!(shown["held"], held["reason"], "{shown}");
    let (status, detail) = page.post("/api/plugin", &json!({"plugin": "p"}));
    assert_eq!((status, detail["granted"].to_string()), (200, granted), "{detail}");
    // With a grant that it did not have when it was approved, it says which.
    assert_eq!(page.post("/api/approve", &approval(&shown)).0, 200);
    page.plugin_when("p", |own| own["state"] == "runs" && own.get("newer").is_none());
    home.configure(&format!("{STRICT}[plugins.p.grants]\nkeyvalue = true\nchange-lists = true\nelicit = true\n"));
    page.plugin_when("p", |own| own["state"] == "held" || own["newer"]["state"] == "held");
    let shown = review(&page, "p");
    assert!(shown["held"].as_str().is_some_and(|why| why.contains("elicit")), "{shown}");
    client.finish();
}

#[test]
fn only_what_was_shown_is_approved() {
    let home = Home::new();
    home.configure(STRICT);
    home.put_bytes(&version("1", "Does a thing."), "p");
    let (mut client, page) = start(&home);
    page.plugin_when("p", |own| own["state"] == "held");
    let shown = review(&page, "p");
    // The file is another one meanwhile.
    home.put_bytes(&version("2", "Does harm."), "p");
    let (status, refused) = page.post("/api/approve", &approval(&shown));
    assert_eq!(status, 409, "{refused}");
    assert!(refused["error"].as_str().is_some_and(|error| error.contains("its file was replaced")), "{refused}");
    let newer = review(&page, "p");
    assert_ne!(newer["content"], shown["content"]);
    // Parts of both, and what was never shown.
    for (member, value) in [
        ("content", &shown["content"]),
        ("terms", &shown["terms"]),
        ("surface", &shown["surface"]),
        ("surface", &Value::Null),
    ] {
        let mut mixed = approval(&newer);
        mixed[member] = value.clone();
        let (status, refused) = page.post("/api/approve", &mixed);
        assert_eq!(status, 409, "{member}: {refused}");
    }
    // Grants that were added since.
    home.configure(&format!("{STRICT}[plugins.p.grants]\nkeyvalue = true\n"));
    let deadline = Instant::now() + TIMEOUT;
    while review(&page, "p")["granted"].as_array().is_none_or(Vec::is_empty) {
        assert!(Instant::now() < deadline);
    }
    let (status, refused) = page.post("/api/approve", &approval(&newer));
    assert_eq!(status, 409, "{refused}");
    assert!(said(&home, &["status"]).contains("held"), "nothing was approved");
    // A decision of somebody else.
    let before = review(&page, "p");
    assert!(said(&home, &["revoke", "p"]).contains("revoked"));
    let (status, refused) = page.post("/api/approve", &approval(&before));
    assert_eq!(status, 409, "{refused}");
    assert!(client.tools().is_empty());
    client.finish();
}

#[test]
fn a_revocation_has_the_effect_of_the_command() {
    let home = Home::new();
    home.put_bytes(&version("1", "Does a thing."), "p");
    let (mut client, page) = start(&home);
    let own = page.plugin_when("p", |own| own["state"] == "runs");
    assert_eq!(client.text("p_act", json!({})), "1");
    let none = "0".repeat(64);
    let (status, refused) = page.post("/api/revoke", &json!({"plugin": "p", "content": none}));
    assert_eq!(status, 409, "{refused}");
    let (status, done) = page.post("/api/revoke", &json!({"plugin": "p", "content": own["content"]}));
    assert_eq!((status, &done["revoked"]), (200, &json!([own["content"]])), "{done}");
    page.plugin_when("p", |own| own["state"] == "held");
    let deadline = Instant::now() + TIMEOUT;
    while !client.tools().is_empty() {
        assert!(Instant::now() < deadline);
    }
    assert!(said(&home, &["status"]).contains("revoked"));
    // An approval takes that back.
    let shown = review(&page, "p");
    assert_eq!(shown["revoked"], true, "{shown}");
    assert_eq!(page.post("/api/approve", &approval(&shown)).0, 200);
    page.plugin_when("p", |own| own["state"] == "runs");
    client.finish();
}

#[test]
fn a_file_that_never_ran_is_forgotten_when_it_is_deleted() {
    let home = Home::new();
    home.configure(STRICT);
    home.put_bytes(&version("1", "Does a thing."), "p");
    home.put_bytes(b"no component", "Not a <name>");
    let (client, page) = start(&home);
    page.plugin_when("p", |own| own["state"] == "held");
    let misnamed = "Not a <name>.wasm";
    page.plugin_when(misnamed, |own| own["state"] == "refused");
    home.remove("p");
    home.remove("Not a <name>");
    page.plugin_when("p", Value::is_null);
    page.plugin_when(misnamed, Value::is_null);
    client.finish();
}

#[test]
fn a_file_that_is_put_back_waits_no_more() {
    let home = Home::new();
    home.configure("[plugins.p.grants]\nelicit = true\n");
    let first = version("1", "Does a thing.");
    home.put_bytes(&first, "p");
    let (client, page) = start(&home);
    page.plugin_when("p", |own| own["state"] == "runs");
    home.put_bytes(&version("2", "Does another thing."), "p");
    page.plugin_when("p", |own| own["newer"]["code"] == "other_words");
    home.put_bytes(&first, "p");
    page.plugin_when("p", |own| own["state"] == "runs" && own.get("newer").is_none());
    client.finish();
}

/// A grant that a listing can observe.
const VARIABLE: &str = "[plugins.p.grants]\nenv = { PLACE = \"here\" }\n";

/// Starts a server whose `p` was pinned, and is then replaced by that component, which is held.
fn replaced(home: &Home, component: &[u8]) -> (Client, Page) {
    home.configure(VARIABLE);
    home.put_bytes(&version("1", "Does a thing."), "p");
    let (client, page) = start(home);
    page.plugin_when("p", |own| own["state"] == "runs");
    home.put_bytes(component, "p");
    page.plugin_when("p", |own| own["newer"]["state"] == "held");
    (client, page)
}

#[test]
fn what_is_listed_otherwise_with_grants_is_shown_before_it_is_approved() {
    let home = Home::new();
    let (mut client, page) = replaced(&home, &Guest::returning("2").lists_variable_count("act").build());
    let shown = review(&page, "p");
    assert!(shown["diff"].as_str().is_some_and(|diff| diff.contains("0 variables")), "{shown}");
    let (status, answer) = page.post("/api/approve", &approval(&shown));
    assert_eq!(status, 409, "{answer}");
    let again = &answer["shown"];
    assert!(again["diff"].as_str().is_some_and(|diff| diff.contains("+ 1 variables")), "{answer}");
    assert_eq!(client.text("p_version", json!({})), "1", "nothing was approved");
    assert_eq!(page.post("/api/approve", &approval(again)).0, 200);
    page.plugin_when("p", |own| own.get("newer").is_none());
    assert_eq!(client.text("p_version", json!({})), "2");
    client.finish();
}

#[test]
fn what_cannot_be_listed_without_grants_is_listed_with_them_if_the_person_agrees() {
    let home = Home::new();
    let silent = Guest::returning("2").described("act", "Does another thing.").listing_needs_variable().build();
    let (mut client, page) = replaced(&home, &silent);
    let shown = review(&page, "p");
    assert!(shown["needs_grants"].is_string() && shown.get("diff").is_none(), "{shown}");
    let (status, answer) = page.post("/api/approve", &approval(&shown));
    assert_eq!(status, 409, "{answer}");
    let again = &answer["shown"];
    assert!(again["diff"].as_str().is_some_and(|diff| diff.contains("Does another thing.")), "{answer}");
    assert_eq!(client.text("p_version", json!({})), "1", "nothing was approved");
    assert_eq!(page.post("/api/approve", &approval(again)).0, 200);
    page.plugin_when("p", |own| own.get("newer").is_none());
    assert_eq!(client.text("p_version", json!({})), "2");
    client.finish();
}

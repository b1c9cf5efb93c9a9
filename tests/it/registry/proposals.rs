//! What a model proposes is written down, and nothing else.

use serde_json::json;

use super::*;
use crate::support::client::{Client, first_text};

#[test]
fn a_proposal_is_shown_to_a_person_and_fetches_nothing() {
    let (home, double) = (Home::new(), Double::start());
    home.configure("[server]\nproposals = true\n");
    double.publish("1", &component("Does a thing."), json!({}));
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["propose_plugin"]);
    let reference = double.reference(":1");
    let mut propose = |reference: &str, reason: &str| {
        client.call("propose_plugin", json!({ "reference": reference, "reason": reason }))
    };
    let taken = propose(&reference, "to tell\n  by  root\u{1b}[31m");
    assert_ne!(taken["isError"], true);
    assert!(first_text(&taken).contains("written down"), "{taken}");
    for wrong in ["/etc/passwd", "file:///etc/passwd", "http://a.example/x", "--config", "oci://x"] {
        let refused = propose(wrong, "x");
        assert_eq!(refused["isError"], true, "{wrong}: {refused}");
    }
    for number in 1..8 {
        let taken = propose(&format!("oci://a.example/p:{number}"), "x");
        assert!(first_text(&taken).contains("written down"), "{taken}");
    }
    let full = propose("oci://a.example/p:9", "x");
    assert!(first_text(&full).contains("8 proposals already"), "{full}");
    assert_eq!(double.heads(), [] as [String; 0]);

    let shown = run(&home, ["proposals"]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let own = format!(
        "{reference}\n  by       local\n  reason   to tell\\n  by  root\\u{{1b}}[31m\n  to see   wharf add '{reference}'\n"
    );
    assert!(text.contains(&own), "{text}");
    let dropped = run(&home, ["proposals", "--drop", &reference]);
    assert!(err(&dropped).contains("forgot 1"), "{}", err(&dropped));
    let dropped = run(&home, ["proposals", "--drop-all"]);
    assert!(err(&dropped).contains("forgot 7"), "{}", err(&dropped));
    assert!(err(&run(&home, ["proposals"])).contains("there are no proposals"));
}

#[test]
fn there_is_no_such_tool_unless_it_is_configured() {
    let home = Home::new();
    home.put_bytes(&component("Does a thing."), "proposals");
    let mut client = Client::start(&home);
    assert_eq!(client.tools(), ["proposals_version", "proposals_act"]);
}

//! Servers with faults: none of them holds the host up, or gets more than its limits.

use serde_json::json;

use super::{SERVERS, configure, home, home_of};
use crate::support::client::{Client, first_text};
use crate::support::process::run;

#[test]
fn servers_that_cannot_be_listed_are_refused_with_a_reason() {
    for server in SERVERS {
        refuses(server);
    }
}

fn refuses(server: &str) {
    let home = home_of(server, "");
    let file = home.plugin("served");
    for (mode, why) in [
        ("html", "not valid JSON"),
        ("missing", "HTTP status 404"),
        ("failing", "HTTP status 500"),
        ("redirecting", "a redirection, which is not followed"),
        ("silent", NO_RESPONSE[usize::from(server == SERVERS[1])]),
        ("panicking", "it crashed"),
        ("spinning", "within its time limit"),
        ("wrong-id", "does not answer the request"),
        ("2027-01-01", "unknown revision"),
        ("many", "more than 128 entries"),
        ("pages", "more than 32 pages"),
        ("nested", "not valid JSON"),
        ("nameless", "no text `name`"),
    ] {
        configure(&home, mode, "[plugins.served.limits]\ncpu = \"500ms\"\n");
        let output = run(&home, ["call".as_ref(), file.as_os_str(), "add".as_ref()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{server} {mode}: {said}");
    }
}

#[test]
fn faults_of_responses_are_the_servers() {
    for server in SERVERS {
        responds(server);
    }
}

/// In 0.3 a handler always returns something.
const NO_RESPONSE: [&str; 2] = ["no response", "an error of HTTP"];

fn responds(server: &str) {
    let home = home_of(server, "");
    configure(&home, "", "[plugins.served.limits]\noutput = \"64 KiB\"\n");
    for (how, code, why) in [
        ("endless", "output-too-large", "64 KiB"),
        ("endless-stream", "output-too-large", "64 KiB"),
        ("unfinished", "bad-output", "not finished"),
        ("silent", "bad-output", NO_RESPONSE[usize::from(server == SERVERS[1])]),
        ("empty", "bad-output", "not valid JSON"),
        ("text", "bad-output", "not valid JSON"),
        ("other", "bad-output", "does not answer the request"),
        ("nested", "bad-output", "not valid JSON"),
        ("redirect", "bad-output", "a redirection, which is not followed"),
        ("teapot", "bad-output", "HTTP status 418"),
        ("no-events", "bad-output", "without the answer"),
        ("content", "bad-output", "content of an unknown type"),
        ("question", "bad-output", "an input request without questions and state"),
        ("task", "bad-output", "a result of the type 'task'"),
        ("panic", "trap", "crashed"),
    ] {
        // A server of its own: one that saw all of them would disable the plugin for a while.
        let mut client = Client::start_modern(&home);
        let result = client.call("served_fault", json!({ "how": how }));
        assert_eq!(result["_meta"]["wharf/fault"]["code"], code, "{server} {how}: {result}");
        assert!(first_text(&result).contains(why), "{server} {how}: {result}");
        assert_eq!(client.text("served_place", json!({ "region": how })), how);
    }
    let mut client = Client::start_modern(&home);
    let failed = client.call("served_fault", json!({ "how": "error" }));
    assert_eq!((&failed["isError"], first_text(&failed)), (&json!(true), "it failed"));
    // Of a tool these are errors for the model, as any other.
    for (how, message) in [("not-found", "no note of that name"), ("no-method", "not in this release")] {
        let failed = client.call("served_fault", json!({ "how": how }));
        assert_eq!((&failed["isError"], first_text(&failed)), (&json!(true), message));
    }
    let invalid = client.call("served_fault", json!({ "how": "invalid" }));
    assert!(first_text(&invalid).contains("wrong argument"), "{invalid}");
}

#[test]
fn a_message_of_too_many_values_is_not_read() {
    let home = home("");
    let mut client = Client::start_modern(&home);
    let result = client.call("served_fault", json!({ "how": "values" }));
    assert_eq!(result["_meta"]["wharf/fault"]["code"], "bad-output", "{result}");
    assert!(first_text(&result).contains("more than 262144 values"), "{result}");
}

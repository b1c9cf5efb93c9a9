//! The trace of a request, in the log of its call and in its record.

use serde_json::{Value, json};

use super::{calls, records};
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::{Process, command, run};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A server whose log has its calls.
fn serve(home: &Home) -> Process {
    let mut command = command(home, ["serve".as_ref(), home.plugins().as_os_str()]);
    command.env("WHARF_LOG", "info,call=debug");
    Process::start(command)
}

fn call(client: &mut Client, message: &str, traceparent: &Value) {
    let params = json!({
        "name": "echo", "arguments": {"message": message},
        "_meta": {"traceparent": traceparent, "tracestate": "a=b", "baggage": "c=d"},
    });
    assert_eq!(first_text(&client.result("tools/call", params)), message);
}

#[test]
fn the_log_of_a_call_and_its_record_have_the_trace_of_its_request() {
    let valid = json!(format!("00-{TRACE}-{PARENT}-01"));
    for modern in [true, false] {
        let home = Home::with(&["echo"]);
        let revision = if modern { "2026-07-28" } else { "2025-11-25" };
        let mut client = Client::with_capabilities(serve(&home), revision, json!({}));
        client.tools();
        call(&mut client, "1", &valid);
        let log = client.process().log_with(&format!("trace=\"{TRACE}\""));
        assert!(log.lines().any(|line| line.contains(TRACE) && line.contains("echo") && line.contains("ok")), "{log}");
        call(&mut client, "2", &json!("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"));
        call(&mut client, "3", &json!({"trace": valid}));
        client.call("echo", json!({"message": "4"}));
        client.finish();
        let records = records(&home);
        let traces: Vec<Option<&str>> = calls(&records).iter().map(|record| record["trace"].as_str()).collect();
        assert_eq!(traces, [Some(TRACE), None, None, None], "{records:?}");
        let shown = run(&home, ["audit", "show", "--json", "--trace", TRACE]).stdout;
        assert_eq!(String::from_utf8(shown).expect("UTF-8").lines().count(), 1);
    }
}

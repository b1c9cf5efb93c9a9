//! Memory of buffered events for clients that do not return, measured on the binary.

use serde_json::json;

use crate::support::events::Events;
use crate::support::home::Home;
use crate::support::http::{HttpConnection, serve};
use crate::support::streamable::{Endpoint, request};

/// P26: sessions whose clients disconnect before they read their answers buffer 16 MiB per caller,
/// not all answers, some 190 MB. A dropped answer is reported under its id.
#[test]
fn p26_unread_answers_are_bounded_over_all_sessions() {
    const CALLS: u64 = 12;
    let home = Home::with(&["text"]);
    let (process, address) = serve(&home, &[]);
    // A megabyte, twice: as structured content and as text.
    let arguments = json!({"text": "a".repeat(1000), "pattern": "a", "replacement": "b".repeat(1000)});
    let call = |id: u64| request(id, "tools/call", json!({"name": "text_replace", "arguments": arguments}));
    let first = Endpoint::initialize(address, "2025-11-25");
    let whole = first.exchange(&call(0));
    assert!(whole.body.len() > 2_000_000, "{} bytes", whole.body.len());
    let before = process.resident();
    let clients: Vec<_> = (0..8).map(|_| Endpoint::initialize(address, "2025-11-25")).collect();
    for client in &clients {
        for id in 1..=CALLS {
            // Disconnects after the head of the response, with two megabytes unread.
            let stream = client.post(&call(id)).set("Accept", "text/event-stream");
            assert_eq!(HttpConnection::connect(address).exchange(&stream).status, 200);
        }
        // Streams are numbered.
        let last = client.get().with("Last-Event-ID", &format!("{CALLS}-0"));
        let last = Events::open(HttpConnection::connect(address), &last).next_message().expect("an answer").json();
        assert_eq!(last["id"], CALLS, "{last}");
    }
    let growth = process.resident().saturating_sub(before) >> 20;
    assert!(growth < 96, "{growth} MiB");
    let oldest = clients[0].get().with("Last-Event-ID", "1-0");
    let oldest =
        Events::open(HttpConnection::connect(address), &oldest).next_message().expect("an error in its place").json();
    assert_eq!((&oldest["id"], &oldest["error"]["data"]["reason"]), (&json!(1), &json!("answer_dropped")), "{oldest}");
}

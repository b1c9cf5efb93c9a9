//! Events: each record once, or how many are missing; and how many pages follow.

use std::time::Instant;

use super::*;

/// A stream of events, as a page reads it.
struct Followed {
    connection: HttpConnection<TcpStream>,
    text: String,
}

impl Followed {
    fn open(page: &Page) -> (u16, Self) {
        let mut connection = HttpConnection::connect(page.address);
        let response = connection.exchange(&page.request("GET", "/api/events"));
        (response.status, Self { connection, text: String::new() })
    }

    /// The next event.
    fn event(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.strip_prefix("data: ").map(|data| serde_json::from_str(data).expect("JSON"));
                self.text = rest.to_owned();
                if let Some(data) = data {
                    return data;
                }
                continue;
            }
            let chunk = self.connection.chunk().expect("a stream that goes on");
            self.text += std::str::from_utf8(&chunk).expect("UTF-8");
        }
    }

    /// Reads until as many records have come or are missing; returns how many there were of each.
    fn until(&mut self, tool: &str, count: u64) -> (u64, u64) {
        let (mut got, mut skipped) = (0, 0);
        let deadline = Instant::now() + TIMEOUT;
        while got + skipped < count {
            assert!(Instant::now() < deadline, "{got} and {skipped} of {count}");
            let event = self.event();
            let records = event["records"].as_array().expect("a list");
            got += records.iter().filter(|record| record["tool"] == tool).count() as u64;
            skipped += event["skipped"].as_u64().expect("a number");
        }
        (got, skipped)
    }
}

#[test]
fn calls_come_as_they_are_made_with_what_they_cost() {
    let home = home();
    home.configure("[audit]\nenabled = false\n");
    let (mut client, page) = start(&home);
    let (status, mut followed) = Followed::open(&page);
    assert_eq!(status, 200);
    client.call("one_version", json!({}));
    let deadline = Instant::now() + TIMEOUT;
    let record = loop {
        let event = followed.event();
        let records = event["records"].as_array().expect("a list").clone();
        match records.into_iter().find(|record| record["tool"] == "version" || record["tool"] == "one_version") {
            Some(record) => break record,
            None => assert!(Instant::now() < deadline),
        }
    };
    assert_eq!((&record["plugin"], &record["code"]), (&json!("one"), &json!("ok")), "{record}");
    assert_eq!(record["principal"], "local", "{record}");
    assert!(record["took_us"].as_u64() > Some(0) && record["cpu_us"].is_u64(), "{record}");
    // Arguments and results are not shown to who only looks.
    assert!(record.get("in").is_none() && record.get("out").is_none(), "{record}");
    client.finish();
}

#[test]
fn who_reads_slowly_loses_records_and_is_told_how_many() {
    let home = home();
    let (mut client, page) = start(&home);
    page.plugin_when("one", |own| own["state"] == "runs");
    let (status, mut slow) = Followed::open(&page);
    assert_eq!(status, 200);
    slow.event();
    // More than are kept, while nothing is read; the tool does not exist, so its name is as it was sent.
    const CALLS: u64 = 1500;
    for _ in 0..CALLS {
        client.error("tools/call", json!({"name": "absent"}));
    }
    let (got, skipped) = slow.until("absent", CALLS);
    assert_eq!(got + skipped, CALLS);
    assert!(skipped > 0 && got > 0, "{got} {skipped}");
    client.finish();
}

#[test]
fn only_so_many_pages_follow_at_the_same_time() {
    let home = home();
    let (client, page) = start(&home);
    let mut open: Vec<Followed> = (0..MAX_STREAMS)
        .map(|_| {
            let (status, followed) = Followed::open(&page);
            assert_eq!(status, 200);
            followed
        })
        .collect();
    assert_eq!(Followed::open(&page).0, 503);
    for followed in &mut open {
        followed.event();
    }
    open.pop();
    let deadline = Instant::now() + TIMEOUT;
    // The server sees that it is closed when it writes to it.
    while Followed::open(&page).0 != 200 {
        assert!(Instant::now() < deadline);
        page.ask(&page.request("POST", "/api/mcp").json("{}"));
    }
    client.finish();
}

//! Collectors that fail: what is tried again and when, and what is said of what is lost.

use rustix::process::Signal;

use super::*;

/// Ends a server, and returns its log.
fn ended(client: &mut Client<Process>) -> String {
    client.process().signal(Signal::TERM);
    client.process().wait();
    client.process().log()
}

#[test]
fn a_collector_says_when_it_wants_the_next_export() {
    const WANTED: Duration = Duration::from_secs(2);
    let (sender, times) = channel();
    let (sender, is_first) = (Mutex::new(sender), std::sync::atomic::AtomicBool::new(true));
    let shared = Arc::new((sender, is_first));
    let site = Site::start(move |head, connection| {
        let length = field(head, "content-length").and_then(|length| length.parse().ok()).expect("a length");
        connection.read_exact(&mut vec![0; length]).expect("a body");
        let is_first = shared.1.swap(false, std::sync::atomic::Ordering::SeqCst);
        shared.0.lock().expect("no panic").send(Instant::now()).expect("the test runs");
        match is_first {
            true => write(connection, "503 Service Unavailable", "Retry-After: 2\r\n", ""),
            false => write(connection, "200 OK", "", ""),
        }
    });
    let home = home(&format!("[telemetry]\nendpoint = '{}'\nmetrics = false\n", site.url("")));
    let mut client = Client::start(&home);
    client.call("one_version", json!({}));
    let [first, second] = [(); 2].map(|()| times.recv_timeout(TIMEOUT).expect("an export"));
    // Otherwise it is tried again after one second.
    assert!(second - first >= WANTED, "{:?}", second - first);
    client.finish();
}

#[test]
fn traces_that_are_lost_at_the_end_are_told_of() {
    let (end, hold) = channel::<()>();
    let hold = Arc::new(Mutex::new(hold));
    let hanging = Site::start(move |_, _| {
        let _ = hold.lock().expect("no panic").recv();
    });
    let failing = Collector::start("400 Bad Request");
    for (url, calls) in [(hanging.url(""), 3), (failing.site.url(""), 2)] {
        let home = home(&format!("[telemetry]\nendpoint = '{url}'\nmetrics = false\n"));
        let mut client = Client::start(&home);
        for _ in 0..calls {
            client.call("one_version", json!({}));
        }
        let log = ended(&mut client);
        // With that of the handshake.
        let lost = format!("{} traces were dropped: the server stops", calls + 1);
        assert!(log.contains(&lost), "{url}: {log}");
    }
    drop(end);
}

#[test]
fn a_collector_that_sends_interim_responses_without_end_is_given_up() {
    let site = Site::start(
        |_, connection| {
            while connection.write_all(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)).is_ok() {}
        },
    );
    let home = home(&format!("[telemetry]\nendpoint = '{}'\nmetrics = false\n", site.url("")));
    let mut client = Client::start(&home);
    let log = ended(&mut client);
    assert!(log.contains("more than 16 interim responses (1xx) came before the response"), "{log}");
}

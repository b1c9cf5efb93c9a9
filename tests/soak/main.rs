//! A soak test: calls over stdio and HTTP for a long time, while plugins and settings are replaced and
//! clients disconnect and reconnect. Afterwards the host must use no more resources than before.
//!
//! `cargo test -p wharf-mcp --test soak -- [--seconds N]`.

#[path = "../support/support.rs"]
#[allow(unreachable_pub, dead_code, reason = "what the integration tests share is more than this needs")]
mod support;

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use support::TIMEOUT;
use support::client::{Client, first_text};
use support::guest::Guest;
use support::home::Home;
use support::http::{HttpConnection, Response, serve};
use support::process::Process;
use support::streamable::{Endpoint, request, stateless};

const SECONDS: u64 = 1800;
/// Interval between two replacements of the plugin.
const REPLACED: Duration = Duration::from_millis(300);
/// Interval between two changes of its settings.
const CONFIGURED: Duration = Duration::from_secs(2);
/// Concurrent clients over HTTP, each with and without a session.
const CROWD: usize = 6;
/// Allowed growth of idle memory, since allocators retain some.
const SLACK: u64 = 24 << 20;
/// Allowed growth of memory under load.
const AT_WORK: u64 = 192 << 20;

/// The resources of a process.
struct Usage {
    files: usize,
    threads: usize,
    resident: u64,
}

impl Usage {
    fn of(process: &Process) -> Self {
        let count = |what: &str| fs::read_dir(format!("/proc/{}/{what}", process.id())).expect("a process").count();
        Self { files: count("fd"), threads: count("task"), resident: process.resident() }
    }
}

/// Waits until a host is idle, and returns its resources.
fn rested(process: &Process, before: Option<&Usage>) -> Usage {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        // Longer than ready instances are kept.
        thread::sleep(Duration::from_secs(2));
        let now = Usage::of(process);
        let Some(before) = before else { return now };
        let is_less =
            now.files <= before.files && now.threads <= before.threads + 2 && now.resident <= before.resident + SLACK;
        if is_less {
            return now;
        }
        assert!(
            Instant::now() < deadline,
            "in use: {} files, {} threads, {} MiB; before: {}, {}, {}",
            now.files,
            now.threads,
            now.resident >> 20,
            before.files,
            before.threads,
            before.resident >> 20
        );
    }
}

/// The load, and its counters.
#[derive(Default)]
struct Work {
    version: AtomicU32,
    calls: AtomicU64,
    clients: AtomicU64,
}

impl Work {
    /// Replaces the plugin and its settings until that time.
    fn replace(&self, home: &Home, until: Instant) {
        let mut configured = Instant::now();
        while Instant::now() < until {
            let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
            home.put_bytes(&Guest::returning(&version.to_string()).build(), "versioned");
            if configured.elapsed() > CONFIGURED {
                configured = Instant::now();
                home.configure(&format!("[limits]\ntimeout = '{}s'\n", 20 + version % 2));
            }
            thread::sleep(REPLACED);
        }
    }

    /// Checks that a version not older than `last` has answered.
    fn note(&self, answer: &Value, last: &mut u32) {
        let version = first_text(&answer["result"]).parse().unwrap_or_else(|_| panic!("no version: {answer}"));
        assert!((*last..=self.version.load(Ordering::SeqCst)).contains(&version), "{version} after {last}");
        *last = version;
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls over stdio, by one long-lived client.
    fn stay(&self, client: &mut Client, until: Instant) {
        let mut last = 0;
        while Instant::now() < until {
            let id = client.post("tools/call", json!({"name": "versioned_version"}));
            self.note(&client.answer(id), &mut last);
            // Notifications of changed lists.
            while client.next_before(Instant::now()).is_some() {}
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Calls over stdio, by clients that each start a host.
    fn start(&self, home: &Home, until: Instant) {
        while Instant::now() < until {
            let mut client = Client::start(home);
            let id = client.post("tools/call", json!({"name": "versioned_version"}));
            self.note(&client.answer(id), &mut 0);
            assert!(!client.process().log().contains("panicked"), "{}", client.process().log());
            client.finish();
            self.clients.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// Calls over HTTP, by clients that connect, disconnect, resume and end their sessions.
    fn come_and_go(&self, address: SocketAddr, until: Instant) {
        let params = || json!({"name": "versioned_version", "arguments": {}});
        let mut last = 0;
        while Instant::now() < until {
            let client = Endpoint::initialize(address, "2025-11-25");
            let stream = client.listen();
            let mut connection = HttpConnection::connect(address);
            for id in 1..20 {
                self.note(&answer(&connection.exchange(&client.post(&request(id, "tools/call", params())))), &mut last);
            }
            // Two abandoned requests: one in the session, one stateless.
            for message in [request(20, "tools/call", params()), stateless(1, "tools/call", params())] {
                HttpConnection::connect(address).send(&client.post(&message).bytes());
            }
            drop((stream, connection));
            let back = client.listen();
            let modern = Endpoint::new(address);
            for id in 1..20 {
                self.note(&answer(&modern.exchange(&stateless(id, "tools/call", params()))), &mut last);
            }
            HttpConnection::connect(address).exchange(&client.delete());
            drop(back);
            self.clients.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs all load for that time, and returns the peak memory of the HTTP host.
    fn go_on(&self, home: &Home, http: (&Process, SocketAddr), stdio: &mut Client, time: Duration) -> u64 {
        let until = Instant::now() + time;
        let mut most = 0;
        thread::scope(|scope| {
            scope.spawn(|| self.replace(home, until));
            scope.spawn(|| self.stay(stdio, until));
            scope.spawn(|| self.start(home, until));
            let crowd: Vec<_> = (0..CROWD).map(|_| scope.spawn(|| self.come_and_go(http.1, until))).collect();
            // A failed client ends the run.
            while Instant::now() < until && !crowd.iter().any(|client| client.is_finished()) {
                most = most.max(http.0.resident());
                thread::sleep(Duration::from_millis(200));
            }
        });
        most
    }
}

fn answer(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    serde_json::from_str(response.text()).unwrap_or_else(|error| panic!("{error}: {response:?}"))
}

fn seconds() -> Option<u64> {
    let mut arguments = std::env::args().skip(1).skip_while(|argument| argument != "--seconds");
    match arguments.next() {
        None => Some(SECONDS),
        Some(_) => arguments.next()?.parse().ok(),
    }
}

#[allow(clippy::print_stdout, reason = "a command that people and the test runner read")]
fn main() {
    let time = Duration::from_secs(seconds().expect("usage: [--seconds N]"));
    let home = Home::with(&["echo"]);
    let work = Work::default();
    home.put_bytes(&Guest::returning("0").build(), "versioned");
    let (mut process, address) = serve(&home, &[]);
    let mut stdio = Client::start(&home);
    assert_eq!(stdio.tools(), ["echo", "echo_add", "versioned_version"]);

    // Warm-up, before the resources are measured.
    work.go_on(&home, (&process, address), &mut stdio, time / 5);
    let before = [rested(&process, None), rested(stdio.process(), None)];
    let most = work.go_on(&home, (&process, address), &mut stdio, time - time / 5);
    let after = [rested(&process, Some(&before[0])), rested(stdio.process(), Some(&before[1]))];
    assert!(most < before[0].resident + AT_WORK, "{} MiB under load", most >> 20);

    for (name, (before, after)) in ["http", "stdio"].iter().zip(before.iter().zip(&after)) {
        println!(
            "{name}: {} files and {} before, {} threads and {}, {} MiB and {}",
            after.files,
            before.files,
            after.threads,
            before.threads,
            after.resident >> 20,
            before.resident >> 20
        );
    }
    for log in [process.log(), stdio.process().log()] {
        assert!(!log.contains("panicked"), "{log}");
    }
    stdio.finish();
    process.signal(rustix::process::Signal::TERM);
    assert!(process.wait().success());
    let (calls, clients) = (work.calls.into_inner(), work.clients.into_inner());
    assert!(calls >= 10 * time.as_secs() && clients > 0, "only {calls} calls of {clients} clients");
    println!("{calls} calls, {clients} clients, {} versions, at most {} MiB", work.version.into_inner(), most >> 20);
    println!("tests: 1 passed, 0 failed");
}

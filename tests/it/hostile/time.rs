//! Calls that do not return.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{assert_fault, home_of, unharmed};
use crate::support::client::Client;
use crate::support::guest::{Guest, bodies};
use crate::support::home::Home;

/// Margin on a limit for a loaded machine.
const SLACK: Duration = Duration::from_secs(3);

/// As many spinning calls as are admitted, of enough plugins to occupy every guest thread.
#[test]
fn spinning_guests_delay_no_other_call() {
    let home = Home::with(&["echo"]);
    let spinner = Guest::returning("1").does("spin", bodies::SPIN).build();
    let spinners = ["one", "two", "three"];
    for name in spinners {
        home.put_bytes(&spinner, name);
    }
    home.configure("[limits]\ncpu = \"300ms\"\n");
    let mut client = Client::start(&home);
    client.tools();
    let pending: Vec<(u64, &str)> = spinners
        .into_iter()
        .cycle()
        .take(18)
        .map(|plugin| (client.post("tools/call", json!({"name": format!("{plugin}_spin")})), plugin))
        .collect();
    let (mut ping, mut echo) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..20 {
        let started = Instant::now();
        client.result("ping", json!({}));
        ping = ping.max(started.elapsed());
        let started = Instant::now();
        assert_eq!(client.text("echo", json!({"message": "x"})), "x");
        echo = echo.max(started.elapsed());
    }
    assert!(ping < Duration::from_secs(1), "a ping took {ping:?}");
    assert!(echo < Duration::from_secs(2), "another plugin's call took {echo:?}");
    for (id, plugin) in pending {
        assert_fault(&client.answer(id)["result"], plugin, "cpu");
    }
    unharmed(client);
}

#[test]
fn a_full_queue_refuses_at_once() {
    let home = home_of(&Guest::returning("1").does("spin", bodies::SPIN));
    home.configure("[plugins.hostile.limits]\ncpu = \"300ms\"\nconcurrency = 1\nqueue = 2\n");
    let mut client = Client::start(&home);
    client.tools();
    let pending: Vec<u64> = (0..8).map(|_| client.post("tools/call", json!({"name": "hostile_spin"}))).collect();
    let answers: Vec<_> = pending.into_iter().map(|id| client.answer(id)).collect();
    let with =
        |code: &str| answers.iter().filter(|answer| answer["result"]["_meta"]["wharf/fault"]["code"] == code).count();
    assert_eq!((with("cpu"), with("busy")), (3, 5), "{answers:?}");
    unharmed(client);
}

#[test]
fn a_cancelled_call_releases_its_slot() {
    let home = home_of(&Guest::returning("free").logs("spin", "spinning now", 1, bodies::SPIN));
    home.configure("[plugins.hostile.limits]\nconcurrency = 1\ncpu = \"60s\"\ntimeout = \"60s\"\n");
    let mut client = Client::start(&home);
    client.tools();
    let spin = client.post("tools/call", json!({"name": "hostile_spin"}));
    client.process().log_with("spinning now");
    let next = client.post("tools/call", json!({"name": "hostile_version"}));
    let started = Instant::now();
    client.notify("notifications/cancelled", json!({"requestId": spin}));
    assert_eq!(client.answer(next)["result"]["content"][0]["text"], "free");
    assert!(started.elapsed() < SLACK, "took {:?}", started.elapsed());
    // The cancelled call has no answer: `unharmed` checks that.
    unharmed(client);
}

/// Far more calls than threads: a waiting call does not occupy a thread.
#[test]
fn waiting_calls_do_not_occupy_threads() {
    let home = Home::with(&["echo"]);
    home.put("hostile", "sleeper");
    home.configure("[plugins.sleeper.limits]\nconcurrency = 100\nqueue = 0\ntimeout = \"2s\"\n");
    let mut client = Client::start(&home);
    client.tools();
    let pending: Vec<u64> = (0..100).map(|_| client.post("tools/call", json!({"name": "sleeper_sleep"}))).collect();
    assert_eq!(client.text("echo", json!({"message": "x"})), "x");
    for id in pending {
        // None was refused as busy.
        assert_fault(&client.answer(id)["result"], "sleeper", "timeout");
    }
    unharmed(client);
}

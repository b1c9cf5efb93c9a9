//! A disk that is full, and one that is slow, below the store of a server, whatever its engine.

mod kept;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::servers::disk::Slow;
use crate::servers::nats::NatsServer;
use crate::servers::postgres::PostgresServer;
use crate::support::MODERN;
use crate::support::client::{Client, first_text};
use crate::support::home::Home;
use crate::support::process::Process;
use crate::support::tasks::*;
use kept::{Kept, Own, Shared};

/// Of a write, within and beyond the [timeouts](kept::TIMEOUTS) of the store.
const SLOW: Duration = Duration::from_millis(250);
const TOO_SLOW: Duration = Duration::from_secs(4);
/// From when there is room, or the disk is fast again.
const SOON_AGAIN: Duration = Duration::from_secs(20);
/// Places that complain in the log of a store that fails, each once in ten seconds.
const PLACES: usize = 6;

/// A server, its plugins, and what was acknowledged.
struct Site<K> {
    kept: K,
    home: Home,
    notes: BTreeSet<u64>,
}

impl<K: Kept> Site<K> {
    fn new() -> Self {
        let (kept, home) = (K::new(), Home::with(&["everything", "notes"]));
        let notes = "[plugins.notes.grants]\nkeyvalue = true\n";
        home.configure(&format!("{SOON}{}{notes}", kept.settings()));
        Self { kept, home, notes: BTreeSet::new() }
    }

    fn client(&self) -> Client {
        let process = Process::start(self.kept.serve(&self.home));
        let mut client = Client::with_capabilities(process, MODERN, capabilities());
        client.tools();
        client
    }

    /// Adds a note; whether it was kept.
    fn add(&mut self, client: &mut Client) -> bool {
        let id = client.post("tools/call", added());
        self.added(client, id)
    }

    fn added(&mut self, client: &mut Client, request: u64) -> bool {
        let result = client.answer(request)["result"].take();
        if result["isError"] == true {
            let why = first_text(&result);
            assert!(why.contains("the host's store failed") || why.contains("is busy"), "{result}");
            return false;
        }
        self.notes.insert(result["structuredContent"]["id"].as_u64().unwrap_or_else(|| panic!("{result}")));
        true
    }

    fn add_until(&mut self, client: &mut Client, kept: bool, within: Duration) {
        let deadline = Instant::now() + within;
        while self.add(client) != kept {
            assert!(Instant::now() < deadline, "{}", client.process().log());
        }
    }

    /// Adds many notes, a few at the same time; how many are not kept.
    fn refused(&mut self, client: &mut Client) -> usize {
        let mut refused = 0;
        for _ in 0..K::CALLS / 4 {
            let requests = [(); 4].map(|()| client.post("tools/call", added()));
            refused += requests.into_iter().filter(|request| !self.added(client, *request)).count();
        }
        refused
    }

    /// Nothing that was acknowledged is lost.
    fn check(&self, client: &mut Client) {
        let listed = client.call("notes_list", json!({}));
        let listed = listed["structuredContent"]["notes"].as_array().unwrap_or_else(|| panic!("{listed}"));
        let listed: BTreeSet<u64> = listed.iter().filter_map(|note| note["id"].as_u64()).collect();
        assert!(self.notes.is_subset(&listed), "{:?} of {:?}", listed, self.notes);
        let log = client.process().log();
        assert!(!log.contains("panic"), "{log}");
    }
}

/// A note that no engine compresses to nothing.
fn added() -> Value {
    let random = std::fs::read("/proc/sys/kernel/random/uuid").expect("random");
    let mut state = random.iter().fold(7_u64, |state, byte| state.wrapping_mul(257).wrapping_add(u64::from(*byte)));
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 60) as u8)
    });
    json!({"name": "notes_add", "arguments": {"text": letters.take(12_000).collect::<String>()}})
}

/// What needs no store is answered as ever, and as soon: the fastest of some calls, since this machine may be busy.
fn is_prompt(client: &mut Client) {
    let mut soonest = Duration::MAX;
    for _ in 0..5 {
        let asked = Instant::now();
        assert_eq!(client.text("everything_greet", json!({"name": "you"})), "Hello, you!");
        soonest = soonest.min(asked.elapsed());
    }
    assert!(soonest < SLOW, "{soonest:?}");
}

/// Those of the log after its first `from` bytes in which something is wrong: few, however many calls have failed.
fn complaints(client: &mut Client, from: usize, since: Instant) -> Vec<String> {
    let log = client.process().log();
    let is_wrong = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    let said: Vec<String> = log[from..].lines().filter(is_wrong).map(str::to_owned).collect();
    let most = PLACES * (1 + since.elapsed().as_secs() as usize / 10);
    assert!(said.len() <= most, "{most} in {:?}: {said:#?}", since.elapsed());
    said
}

macro_rules! with_each_engine {
    ($($name:ident)*) => {
        mod postgres {$(
            #[test]
            fn $name() {
                super::$name::<super::Shared<super::PostgresServer>>();
            }
        )*}
        mod nats {$(
            #[test]
            fn $name() {
                super::$name::<super::Shared<super::NatsServer>>();
            }
        )*}
        mod sqlite {$(
            #[test]
            fn $name() {
                super::$name::<super::Own>();
            }
        )*}
    };
}

with_each_engine! {
    a_full_disk_loses_nothing_and_is_said
    a_slow_disk_loses_nothing_and_delays_no_other_call
}

fn a_full_disk_loses_nothing_and_is_said<K: Kept>() {
    let mut site = Site::<K>::new();
    let mut client = site.client();
    for _ in 0..5 {
        assert!(site.add(&mut client), "{}", client.process().log());
    }
    let done = task(&mut client, "slow_again", json!({"seconds": 0.5}));
    until_status(&mut client, &done, "completed");
    let (before, began) = (client.process().log().len(), Instant::now());
    site.kept.disk().fill();
    // There may be room in files that are there.
    site.add_until(&mut client, false, Duration::from_secs(60));
    let refused = site.refused(&mut client);
    assert!(refused >= K::CALLS / 2, "{refused} of {}", K::CALLS);
    is_prompt(&mut client);
    // It is no task if there is no room for it, and answered nonetheless.
    client.call("everything_slow_again", json!({"seconds": 0.3}));
    if K::READS {
        site.check(&mut client);
        assert_eq!(get(&mut client, &done)["status"], "completed");
    }
    let said = complaints(&mut client, before, began);
    assert!(said.iter().any(|line| line.contains("make room")), "{said:#?}");

    site.kept.disk().make_room();
    site.kept.recover();
    site.add_until(&mut client, true, SOON_AGAIN);
    let again = task(&mut client, "slow_again", json!({"seconds": 0.5}));
    until_status(&mut client, &again, "completed");
    assert_eq!(get(&mut client, &done)["status"], "completed");
    site.check(&mut client);
}

fn a_slow_disk_loses_nothing_and_delays_no_other_call<K: Kept>() {
    let mut site = Site::<K>::new();
    let mut client = site.client();
    assert!(site.add(&mut client), "{}", client.process().log());
    let processes = site.kept.processes(&mut client);
    let slow = Slow::new(&processes, K::WRITES, SLOW);
    let asked = Instant::now();
    assert!(site.add(&mut client), "{}", client.process().log());
    assert!(asked.elapsed() >= SLOW, "{:?}", asked.elapsed());
    is_prompt(&mut client);
    let id = task(&mut client, "slow_again", json!({"seconds": 0.5}));
    until_status(&mut client, &id, "completed");
    drop(slow);

    let (before, began) = (client.process().log().len(), Instant::now());
    let slow = Slow::new(&processes, K::WRITES, TOO_SLOW);
    let requests = vec![(); if K::HAS_TIMEOUTS { 4 } else { 1 }];
    let requests: Vec<u64> = requests.iter().map(|()| client.post("tools/call", added())).collect();
    is_prompt(&mut client);
    let kept = requests.into_iter().filter(|request| site.added(&mut client, *request)).count();
    assert_eq!(kept, usize::from(!K::HAS_TIMEOUTS));
    assert!(began.elapsed() < SOON_AGAIN, "{:?}", began.elapsed());
    let said = complaints(&mut client, before, began);
    let why = said.iter().any(|line| line.contains("there was no answer within") && line.contains("see that it runs"));
    assert_eq!(why, K::HAS_TIMEOUTS, "{said:#?}");
    drop(slow);

    site.add_until(&mut client, true, SOON_AGAIN);
    site.check(&mut client);
    site.kept.crash(client);
    let mut client = site.client();
    site.check(&mut client);
    assert_eq!(get(&mut client, &id)["status"], "completed");
}

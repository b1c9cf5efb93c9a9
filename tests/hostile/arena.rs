//! A host with a bystander plugin, and what must hold for both whatever another plugin does.
//!
//! The bystander is called at a fixed rate whenever the arena waits. Its answers are timed from
//! when each call was due, so that a stalled host is late for all calls that it delayed.

mod actions;
mod measures;
mod raw;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit_log::{AuditLog, Expected};
use crate::host::{Host, Start, Transport};
use crate::levels::{Levels, MORE_BYTES};
use crate::support::client::{Client, first_text};
use crate::support::guest::Guest;
use crate::support::home::Home;
use crate::support::{MODERN, TIMEOUT};

use measures::{Guard, HANG_LIMIT};
pub(crate) use raw::outcome_code;

/// Interval between two calls of the bystander.
const PACE: Duration = Duration::from_millis(50);
/// Maximum latency of the bystander. It is generous for a shared machine; the table has the actual
/// value.
const LATEST: Duration = Duration::from_secs(5);
/// The same for attacks on latency ([`Arena::prompt`]). The goal is 100 ms; this is a debug build on
/// a busy machine.
pub(crate) const PROMPT: Duration = Duration::from_millis(2500);
/// Margin on a limit for a loaded machine.
const SLACK: Duration = Duration::from_secs(3);
/// Concurrent calls to warm up the host before its levels are measured.
const WARM: usize = 48;

const SETTINGS: &str = "[server.http]\nconnections-per-address = 256\n";

/// The setup of a row: a home with the bystander, which a row may change before the host starts.
pub(crate) struct Setup {
    pub(crate) home: Home,
    pub(crate) transport: Transport,
    pub(crate) start: Start,
    /// Path of the audit log in the home, unless it is the default.
    pub(crate) audit: Option<&'static str>,
}

pub(crate) struct Arena {
    /// Kills the host when a row hangs.
    guard: Guard,
    pub(crate) home: Home,
    pub(crate) transport: Transport,
    client: Client<Host>,
    process: u32,
    before: Levels,
    /// Unanswered requests.
    open: HashMap<u64, Pending>,
    answered: HashMap<u64, Answer>,
    /// Notifications.
    pub(crate) notifications: VecDeque<Value>,
    /// Answers to raw texts, without a numeric id.
    strays: VecDeque<Value>,
    /// Cancelled requests: an answer may have been on its way.
    given_up: HashSet<u64>,
    /// Number of requests that were sent as raw text.
    texts: u64,
    /// Settings of the row that differ from the default.
    bounds: Bounds,
    /// The id of the subscription, if there is one.
    listening: Option<u64>,
    /// When the next call of the bystander is due.
    due: Instant,
    beats: u64,
    expected: Expected,
    audit_log: AuditLog,
    latest: Duration,
    /// Peak resident memory.
    peak: u64,
    over: Option<Duration>,
}

/// Bounds of a row.
struct Bounds {
    /// Maximum latency of the bystander.
    late: Duration,
    /// Whether calls of the bystander are paused.
    quiet: bool,
    /// Bytes by which the host may grow, during the attack and after it.
    peak: Option<u64>,
    left: u64,
    /// Whether the audit log has a record of each call.
    recorded: bool,
    /// Whether the row has ended the host.
    ended: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { late: LATEST, quiet: false, peak: None, left: MORE_BYTES, recorded: true, ended: false }
    }
}

struct Pending {
    at: Instant,
    of: Of,
}

/// The target of a request.
enum Of {
    /// A periodic request to the bystander or the host: the text that its answer must contain.
    Bystander(String),
    /// The host itself, by a row.
    Host,
    Plugin(String),
}

pub(crate) struct Answer {
    /// `""` for the host itself.
    pub(crate) plugin: String,
    pub(crate) message: Value,
    pub(crate) took: Duration,
}

/// The measurements of a row.
pub(crate) struct Outcome {
    /// Maximum overrun of a limit.
    pub(crate) over: Option<Duration>,
    /// Maximum latency of the bystander.
    pub(crate) latest: Duration,
    pub(crate) before: Levels,
    pub(crate) after: Levels,
}

impl Setup {
    pub(crate) fn new(transport: Transport) -> Self {
        let home = Home::with(&["echo"]);
        let home = if transport == Transport::Process { home.with_processes() } else { home };
        Self { home, transport, start: Start::default(), audit: None }
    }

    /// Starts the host, warms it up, and measures its levels.
    pub(crate) fn open(self, settings: &str) -> Arena {
        let Self { home, transport, start, audit } = self;
        home.configure(&format!("{SETTINGS}{settings}"));
        let mut client = Client::with_capabilities(Host::start(&home, transport, &start), MODERN, json!({}));
        client.tools_until(|tools| tools == ["echo", "echo_add"]);
        let process = client.wire().process.id();
        let mut arena = Arena {
            guard: Guard::over(process, HANG_LIMIT),
            home,
            transport,
            client,
            process,
            before: Levels::of(process),
            open: HashMap::new(),
            answered: HashMap::new(),
            notifications: VecDeque::new(),
            strays: VecDeque::new(),
            given_up: HashSet::new(),
            texts: 0,
            bounds: Bounds::default(),
            listening: None,
            due: Instant::now(),
            beats: 0,
            expected: Expected::default(),
            audit_log: AuditLog::at(audit),
            latest: Duration::ZERO,
            peak: 0,
            over: None,
        };
        arena.warm();
        arena
    }
}

impl Arena {
    fn warm(&mut self) {
        if self.transport == Transport::Process {
            // It is listed before its process has started, which takes descriptors.
            self.client.wire().process.log_with("loaded plugin=echo");
            self.before = self.levels();
        }
        self.loads("warm", &Guest::returning("1").build());
        let pending: Vec<u64> = (0..WARM).map(|_| self.start_call("warm_version", json!({}))).collect();
        for id in pending {
            assert_eq!(first_text(&self.answer(id).message["result"]), "1");
        }
        self.home.remove("warm");
        self.until("the warm-up plugin is removed", |arena| {
            arena.last("warm").is_some_and(|record| record["event"] == "remove")
        });
        // Connections and the plugin's resources are released asynchronously.
        let start = self.before;
        self.until("the resources of the warm-up are released", |arena| arena.levels().files <= start.files);
        (self.before, self.latest, self.peak) = (self.levels(), Duration::ZERO, 0);
    }

    fn log_tail(&mut self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(8).collect();
        format!("the end of the log, backwards:\n{}", lines.join("\n"))
    }

    /// Runs blocking work while the bystander is called.
    pub(crate) fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let working = scope.spawn(work);
            self.until("the work is done", |_| working.is_finished());
            working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// As [`Arena::meanwhile`], for work on the home.
    pub(crate) fn meanwhile_at_home<T: Send>(&mut self, work: impl FnOnce(&Home) -> T + Send) -> T {
        let home = std::mem::replace(&mut self.home, Home::new());
        let (home, done) = self.meanwhile(move || {
            let done = work(&home);
            (home, done)
        });
        self.home = home;
        done
    }

    /// Calls the bystander for that long.
    pub(crate) fn pause(&mut self, time: Duration) {
        let end = Instant::now() + time;
        self.until("time passes", |_| Instant::now() >= end);
    }

    /// Calls the bystander until the condition holds and all its calls are answered.
    pub(crate) fn until(&mut self, what: &str, holds: impl FnMut(&mut Self) -> bool) {
        self.until_within(TIMEOUT, what, holds);
    }

    /// As [`Arena::until`], with a time limit.
    pub(crate) fn until_within(&mut self, time: Duration, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        self.assert_running();
        // No call was due while the test did something else.
        self.due = self.due.max(Instant::now());
        let deadline = Instant::now() + time;
        while !holds(self) {
            assert!(Instant::now() < deadline, "not in time: {what}; {}", self.log_tail());
            self.beat();
        }
        let deadline = Instant::now() + TIMEOUT;
        while self.open.values().any(|pending| matches!(pending.of, Of::Bystander(_))) {
            assert!(Instant::now() < deadline, "the bystander does not answer; {}", self.log_tail());
            self.receive(Instant::now() + PACE);
        }
    }

    fn beat(&mut self) {
        self.measure();
        if Instant::now() < self.due || self.bounds.quiet {
            return self.receive(self.due.max(Instant::now() + PACE / 4));
        }
        if self.beats % 8 == 3 {
            return self.check_health();
        }
        let message = format!("beat {}", self.beats);
        let (method, params, wanted) = match self.beats % 8 {
            7 => ("tools/list", json!({}), "\"echo_add\"".to_owned()),
            _ => ("tools/call", json!({"name": "echo", "arguments": {"message": message}}), format!("\"{message}\"")),
        };
        let id = self.client.post(method, params);
        self.open.insert(id, Pending { at: self.due, of: Of::Bystander(wanted) });
        self.beats += 1;
        self.due += PACE;
    }

    /// Handles the next message, if one arrives before the deadline.
    fn receive(&mut self, deadline: Instant) {
        let Some(message) = self.client.next_before(deadline) else { return self.check_latency() };
        if message.get("method").is_some() {
            return self.notifications.push_back(message);
        }
        if message.is_array() || !message["id"].is_u64() {
            return self.strays.push_back(message);
        }
        let id = message["id"].as_u64().unwrap_or_else(|| panic!("an answer without a request: {message}"));
        if self.given_up.remove(&id) {
            return;
        }
        let pending = self
            .open
            .remove(&id)
            .unwrap_or_else(|| panic!("a second or unexpected answer: {:.400}", message.to_string()));
        let took = pending.at.elapsed();
        let plugin = match pending.of {
            Of::Bystander(wanted) => {
                self.latest = self.latest.max(took);
                let (late, beats) = (self.bounds.late, self.beats);
                assert!(
                    took < late,
                    "the bystander was answered after {took:?}, not within {late:?} (of {beats} calls)"
                );
                assert!(message["result"].to_string().contains(&wanted), "the bystander: {message}");
                return;
            }
            Of::Host => String::new(),
            Of::Plugin(plugin) => {
                self.expected.answered(id, &plugin, &message);
                plugin
            }
        };
        self.answered.insert(id, Answer { plugin, message, took });
    }

    /// Checks what must hold after every attack: removes the plugins, and waits until their resources
    /// are released.
    ///
    /// # Panics
    /// If resources are leaked, a record is missing, or an unexpected answer has arrived.
    pub(crate) fn settle(mut self) -> Outcome {
        // Releasing has a time limit of its own.
        self.guard = Guard::over(self.process, HANG_LIMIT);
        if self.bounds.ended {
            return self.ended();
        }
        let open: Vec<u64> = self.open.keys().copied().collect();
        assert!(open.is_empty(), "never answered: {open:?}");
        for plugin in self.expected.plugins() {
            // Some are already removed.
            let _ = std::fs::remove_file(self.home.plugin(plugin));
        }
        let deadline = Instant::now() + TIMEOUT;
        let after = loop {
            self.assert_running();
            let now = self.levels();
            if now.is_back_at(&self.before, self.bounds.left) {
                break now;
            }
            assert!(Instant::now() < deadline, "{now:?} are in use, of {:?} before", self.before);
            self.rest();
        };
        while self.bounds.recorded
            && let Some(missing) = self.expected.missing(self.audit_log.records(&self.home))
        {
            assert!(Instant::now() < deadline, "{missing}");
            self.rest();
        }
        // Lines of a plugin's own output have its name.
        let log = self.log();
        let panic = log.lines().find(|line| line.contains("panicked") && !line.contains(" plugin="));
        assert_eq!(panic, None, "the host has panicked");
        assert!(self.client.wire().stdout_is_silent(), "something is on stdout");
        let Self { client, listening, over, latest, before, home, guard, .. } = self;
        let rest = client.finish();
        let unasked = |message: &&Value| message.get("id").is_some_and(|id| listening.is_none_or(|own| *id != own));
        assert_eq!(rest.iter().find(unasked), None, "an answer without a request");
        drop((guard, home));
        Outcome { over, latest, before, after }
    }

    /// Waits a moment for the host.
    fn rest(&mut self) {
        self.receive(Instant::now() + PACE);
    }
}

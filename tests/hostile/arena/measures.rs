//! Measurements during an attack, and time limits for rows that hang.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use serde_json::Value;

use super::{Arena, Of, Outcome, PACE, PROMPT, Pending};
use crate::levels::computed;
use crate::support::wire::{Received, Wire as _};

/// Time limit of an attack, and of the checks after it, before the host is killed: a test that
/// writes into a full pipe would block for ever.
pub(super) const HANG_LIMIT: Duration = Duration::from_secs(120);
/// The same for attacks on latency.
const HANG_LIMIT_PROMPT: Duration = Duration::from_secs(45);
/// First id of health checks; other requests have lower ids.
const FIRST: u64 = 1 << 40;
/// Grace period after a signal, and a margin for a loaded machine.
const GRACE: Duration = Duration::from_secs(5 + 4);

/// Kills a process unless it is dropped in time.
pub(super) struct Guard {
    _alive: Sender<()>,
}

impl Guard {
    pub(super) fn over(process: u32, time: Duration) -> Self {
        let (alive, dropped) = channel::<()>();
        std::thread::spawn(move || {
            if dropped.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                let _ = kill_process(pid(process), Signal::KILL);
            }
        });
        Self { _alive: alive }
    }
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).expect("a process id")).expect("not zero")
}

impl Arena {
    /// From now on the bystander and health checks must be answered within [`PROMPT`].
    pub(crate) fn prompt(&mut self) {
        self.bounds.late = PROMPT;
        self.guard = Guard::over(self.process, HANG_LIMIT_PROMPT);
    }

    /// From now on the host may grow by `peak` bytes, and by `left` bytes after the attack.
    pub(crate) fn bounded(&mut self, peak: u64, left: u64) {
        (self.bounds.peak, self.bounds.left) = (Some(peak), left);
    }

    /// Pauses or resumes the calls of the bystander.
    pub(crate) fn set_quiet(&mut self, quiet: bool) {
        self.bounds.quiet = quiet;
    }

    /// The audit log need not have a record of each call.
    pub(crate) fn loses_records(&mut self) {
        self.bounds.recorded = false;
    }

    /// Checks that the host is running.
    pub(super) fn assert_running(&mut self) {
        if let Some(status) = self.client.wire().process.ended() {
            panic!("the host has ended: {status}; {}", self.log_tail());
        }
    }

    pub(super) fn measure(&mut self) {
        self.assert_running();
        let resident = self.levels().resident;
        self.peak = self.peak.max(resident);
        if let Some(peak) = self.bounds.peak {
            let more = resident.saturating_sub(self.before.resident);
            assert!(more <= peak, "the host has grown by {} MiB, of {} at most", more >> 20, peak >> 20);
        }
        self.check_latency();
    }

    /// Checks the age of the bystander's unanswered calls.
    pub(super) fn check_latency(&mut self) {
        let oldest =
            self.open.values().filter(|pending| matches!(pending.of, Of::Bystander(_))).map(|pending| pending.at);
        if let Some(waits) = oldest.min().map(|at| at.elapsed()).filter(|waits| *waits > self.bounds.late) {
            panic!("the bystander has no answer after {waits:?}; {}", self.log_tail());
        }
    }

    /// Sends a health check: `ping`, or over HTTP `/healthz`.
    pub(super) fn check_health(&mut self) {
        let id = FIRST + self.beats;
        self.client.wire().probe(id);
        self.open.insert(id, Pending { at: self.due, of: Of::Bystander("{}".into()) });
        self.beats += 1;
        self.due += PACE;
    }

    /// CPU time of the host so far.
    pub(crate) fn computed(&self) -> Duration {
        computed(self.process)
    }

    /// Limits the size of files that the host may write, in bytes; `None` removes the limit.
    pub(crate) fn writes_at_most(&self, bytes: Option<u64>) {
        let limit = Rlimit { current: bytes, ..getrlimit(Resource::Fsize) };
        prlimit(Some(pid(self.process)), Resource::Fsize, limit).expect("a limit of a child");
    }

    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// The address on which the host listens over HTTP.
    pub(crate) fn address(&mut self) -> Option<SocketAddr> {
        self.client.wire().address()
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.client.wire().process.signal(signal);
    }

    /// Sends SIGTERM: the host must exit with success within its grace period, and each of these
    /// requests must have an answer by then.
    pub(crate) fn expect_clean_exit(&mut self, open: &[u64]) {
        let began = Instant::now();
        self.signal(Signal::TERM);
        let mut answers: Vec<Value> = Vec::new();
        let (mut status, mut ended) = (None, began);
        // Over HTTP answers are read by other threads, possibly after the exit.
        while status.is_none() || ended.elapsed() < 10 * PACE {
            match self.client.wire().receive(PACE) {
                Received::Frame(frame) => answers.push(serde_json::from_str(&frame).expect("JSON")),
                Received::Closed => std::thread::yield_now(),
                Received::TimedOut => {}
            }
            if status.is_none() {
                (status, ended) = (self.client.wire().process.ended(), Instant::now());
            }
            assert!(began.elapsed() < GRACE, "not ended {GRACE:?} after SIGTERM; {}", self.log_tail());
        }
        let status = status.expect("just seen");
        assert!(status.success(), "the host exited after SIGTERM with {status} (signal {:?})", status.signal());
        for id in open.iter().filter(|id| !self.answered.contains_key(*id)) {
            let found = answers.iter().filter(|answer| answer["id"] == *id && answer.get("method").is_none()).count();
            assert_eq!(found, 1, "answers to request {id}, which was in flight at SIGTERM");
        }
        self.bounds.ended = true;
    }

    /// Checks of a host that the row has shut down.
    pub(super) fn ended(mut self) -> Outcome {
        let log = self.log();
        let panic = log.lines().find(|line| line.contains("panicked") && !line.contains(" plugin="));
        assert_eq!(panic, None, "the host has panicked");
        Outcome { over: self.over, latest: self.latest, before: self.before, after: self.before }
    }
}

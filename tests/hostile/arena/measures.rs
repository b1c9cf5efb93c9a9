//! What is measured while an attack goes on, and the ways to end a row that stands still.

use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};
use serde_json::Value;

use super::{Arena, Asked, Of, Outcome, PACE, PROMPT};
use crate::levels::computed;
use crate::support::wire::{Received, Wire as _};

/// How long an attack may last, and what comes after it, before the host is ended: a test that
/// writes into a full pipe has no time limit of its own.
pub(super) const STANDS_STILL: Duration = Duration::from_secs(120);
/// The same where an answer must come at once.
const STANDS_STILL_SOON: Duration = Duration::from_secs(45);
/// Ids of the questions whether the host is there; no other request has so high a number.
const FIRST: u64 = 1 << 40;
/// What a signal gives calls that run, and what a loaded machine may add to it.
const GRACE: Duration = Duration::from_secs(5 + 4);

/// Ends a process unless it is dropped in time.
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
    /// From here on the bystander, and the host when it is asked whether it is there, must
    /// answer within [`PROMPT`].
    pub(crate) fn prompt(&mut self) {
        self.terms.late = PROMPT;
        self.guard = Guard::over(self.process, STANDS_STILL_SOON);
    }

    /// From here on the host may have that many bytes more than before, and that many when all
    /// is over.
    pub(crate) fn bounded(&mut self, peak: u64, left: u64) {
        (self.terms.peak, self.terms.left) = (Some(peak), left);
    }

    /// From here on the bystander is left alone, or called again.
    pub(crate) fn leave_alone(&mut self, quiet: bool) {
        self.terms.quiet = quiet;
    }

    /// The audit log will not have a record of each call.
    pub(crate) fn loses_records(&mut self) {
        self.terms.recorded = false;
    }

    /// That the host has not ended.
    pub(super) fn is_there(&mut self) {
        if let Some(status) = self.client.wire().process.ended() {
            panic!("the host has ended: {status}; {}", self.last_words());
        }
    }

    pub(super) fn measure(&mut self) {
        self.is_there();
        let resident = self.levels().resident;
        self.peak = self.peak.max(resident);
        if let Some(peak) = self.terms.peak {
            let more = resident.saturating_sub(self.before.resident);
            assert!(more <= peak, "the host holds {} MiB more than before, not {} at most", more >> 20, peak >> 20);
        }
        self.late();
    }

    /// That the bystander is not late already.
    pub(super) fn late(&mut self) {
        let oldest = self.open.values().filter(|asked| matches!(asked.of, Of::Bystander(_))).map(|asked| asked.at);
        if let Some(waits) = oldest.min().map(|at| at.elapsed()).filter(|waits| *waits > self.terms.late) {
            panic!("the bystander is not answered for {waits:?}; {}", self.last_words());
        }
    }

    /// `ping`, or over HTTP `/healthz`.
    pub(super) fn ask_for_life(&mut self) {
        let id = FIRST + self.beats;
        self.client.wire().are_you_there(id);
        self.open.insert(id, Asked { at: self.due, of: Of::Bystander("{}".into()) });
        self.beats += 1;
        self.due += PACE;
    }

    /// What the host has computed so far.
    pub(crate) fn computed(&self) -> Duration {
        computed(self.process)
    }

    /// The largest file that the host may write from here on, in bytes; `None`: any.
    pub(crate) fn writes_at_most(&self, bytes: Option<u64>) {
        let limit = Rlimit { current: bytes, ..getrlimit(Resource::Fsize) };
        prlimit(Some(pid(self.process)), Resource::Fsize, limit).expect("a limit of a child");
    }

    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Where the host listens, if it does.
    pub(crate) fn address(&mut self) -> Option<SocketAddr> {
        self.client.wire().address()
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.client.wire().process.signal(signal);
    }

    /// Sends SIGTERM: the host must end well, within its grace, and each of these requests must
    /// have an answer by then.
    pub(crate) fn ends(&mut self, open: &[u64]) {
        let began = Instant::now();
        self.signal(Signal::TERM);
        let mut answers: Vec<Value> = Vec::new();
        let (mut status, mut ended) = (None, began);
        // Over HTTP what came before the end is read by other threads.
        while status.is_none() || ended.elapsed() < 10 * PACE {
            match self.client.wire().receive(PACE) {
                Received::Frame(frame) => answers.push(serde_json::from_str(&frame).expect("JSON")),
                Received::Closed => std::thread::yield_now(),
                Received::Silence => {}
            }
            if status.is_none() {
                (status, ended) = (self.client.wire().process.ended(), Instant::now());
            }
            assert!(began.elapsed() < GRACE, "not ended {GRACE:?} after SIGTERM; {}", self.last_words());
        }
        let status = status.expect("just seen");
        assert!(status.success(), "SIGTERM ended it so: {status} (signal {:?})", status.signal());
        for id in open.iter().filter(|id| !self.answered.contains_key(*id)) {
            let found = answers.iter().filter(|answer| answer["id"] == *id && answer.get("method").is_none()).count();
            assert_eq!(found, 1, "answers to request {id}, which was cut by SIGTERM");
        }
        self.terms.ended = true;
    }

    /// What holds of a host that the row has ended.
    pub(super) fn ended(mut self) -> Outcome {
        let log = self.log();
        let panic = log.lines().find(|line| line.contains("panicked") && !line.contains(" plugin="));
        assert_eq!(panic, None, "the host has panicked");
        Outcome { over: self.over, latest: self.latest, before: self.before, after: self.before }
    }
}

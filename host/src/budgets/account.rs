//! What is left of one budget for one who spends.

use std::fmt;
use std::time::{Duration, Instant};

use super::elsewhere::Other;

/// What a call that finds no place among those that run is told to wait: when one ends is not known.
const RUNNING_WAIT: Duration = Duration::from_secs(1);

/// In so many reports a change is told: one may be overtaken by the next, unread.
const REPORTS: u8 = 2;

/// What can be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Calls,
    /// Seconds.
    Cpu,
    /// Of inputs and results.
    Bytes,
    /// Calls at a time.
    Running,
}

/// What an account has when nothing is spent. Unset: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    pub calls: Option<u32>,
    pub cpu: Option<Duration>,
    pub bytes: Option<u64>,
    pub concurrent: Option<u32>,
    /// The time in which all of it comes back.
    pub window: Duration,
}

#[derive(Debug)]
pub(super) struct Account {
    pub(super) limits: Limits,
    /// What is left of calls, seconds and bytes; below zero, it is overdrawn.
    left: [f64; 3],
    /// What was spent by this process, and how much of it would not have come back if nobody else had spent anything.
    spent: [f64; 3],
    own: [f64; 3],
    /// What others were told of that is spent, by processes that have not said so themselves.
    hearsay: [f64; 3],
    running: u32,
    /// What other processes have said.
    pub(super) others: Vec<Other>,
    /// How many more reports to others name it.
    pub(super) reports: u8,
    pub(super) refused: u64,
    /// When the rest was last brought up to date.
    at: Instant,
}

impl Limits {
    /// Of calls, seconds and bytes.
    fn most(&self) -> [Option<f64>; 3] {
        [self.calls.map(f64::from), self.cpu.map(|cpu| cpu.as_secs_f64()), self.bytes.map(|bytes| bytes as f64)]
    }
}

impl Kind {
    const REFILLING: [Self; 3] = [Self::Calls, Self::Cpu, Self::Bytes];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Calls => "the calls",
            Self::Cpu => "the seconds of computing",
            Self::Bytes => "the bytes",
            Self::Running => "the calls at a time",
        })
    }
}

impl Account {
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        let left = limits.most().map(Option::unwrap_or_default);
        Self {
            limits,
            left,
            spent: [0.0; 3],
            own: [0.0; 3],
            hearsay: [0.0; 3],
            running: 0,
            others: Vec::new(),
            reports: 0,
            refused: 0,
            at: now,
        }
    }

    /// Other limits. What was spent stays spent.
    pub(super) fn set_limits(&mut self, limits: Limits, now: Instant) {
        self.refill(now);
        let before = self.limits.most();
        for (at, most) in limits.most().into_iter().enumerate() {
            let spent = before[at].map_or(0.0, |before| before - self.left[at]);
            self.left[at] = most.unwrap_or_default() - spent;
        }
        self.limits = limits;
    }

    pub(super) fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        for (at, most) in self.limits.most().into_iter().enumerate() {
            let Some(most) = most else { continue };
            let back = most * passed / self.limits.window.as_secs_f64();
            self.left[at] = (self.left[at] + back).min(most);
            self.own[at] = (self.own[at] - back).max(0.0);
            self.hearsay[at] = (self.hearsay[at] - back).max(0.0);
        }
        self.at = self.at.max(now);
    }

    /// Whether a call with so many bytes of input may begin.
    ///
    /// # Errors
    /// What is used up, and the time until it is not; none if it never fits.
    pub(super) fn admit(&mut self, input: usize, now: Instant) -> Result<(), (Kind, Option<Duration>)> {
        if self.limits.bytes.is_some_and(|most| input as u64 > most) {
            return Err((Kind::Bytes, None));
        }
        self.refill(now);
        let mut longest = None;
        for ((kind, left), most) in Kind::REFILLING.into_iter().zip(self.left).zip(self.limits.most()) {
            let Some(most) = most else { continue };
            // Of what is known only later, something must be left.
            let needed = match kind {
                Kind::Calls => 1.0,
                Kind::Bytes => input as f64,
                Kind::Cpu | Kind::Running => 0.0,
            };
            let missing = needed - left;
            if missing > 0.0 || left <= 0.0 {
                let wait = Duration::try_from_secs_f64(missing * self.limits.window.as_secs_f64() / most);
                let wait = wait.unwrap_or(Duration::MAX);
                if longest.is_none_or(|(_, longest)| longest < wait) {
                    longest = Some((kind, wait));
                }
            }
        }
        if longest.is_none()
            && self
                .limits
                .concurrent
                .is_some_and(|most| self.running.saturating_add(self.running_elsewhere(now)) >= most)
        {
            longest = Some((Kind::Running, RUNNING_WAIT));
        }
        longest.map_or(Ok(()), |(kind, wait)| Err((kind, Some(wait))))
    }

    pub(super) fn begin(&mut self, input: usize) {
        self.running += 1;
        self.spend(Kind::Calls, 1.0);
        self.spend(Kind::Bytes, input as f64);
    }

    pub(super) fn end(&mut self) {
        self.running = self.running.saturating_sub(1);
        self.reports = REPORTS;
    }

    pub(super) fn spend(&mut self, kind: Kind, much: f64) {
        let limits = self.limits.most();
        if let Some(at) = Kind::REFILLING.iter().position(|own| *own == kind)
            && limits[at].is_some()
        {
            self.left[at] -= much;
            self.spent[at] += much;
            self.own[at] += much;
        }
        self.reports = REPORTS;
    }

    /// Takes away what another process has spent, of what is limited.
    pub(super) fn charge(&mut self, spent: [f64; 3]) {
        for ((left, most), spent) in self.left.iter_mut().zip(self.limits.most()).zip(spent) {
            if most.is_some() {
                *left -= spent;
            }
        }
    }

    /// Charges what another process says for the first time: what has not come back of what it spent, and of what all
    /// did of whom it knows.
    pub(super) fn charge_first(&mut self, own: [f64; 3], used: [f64; 3]) {
        for (at, most) in self.limits.most().into_iter().enumerate() {
            let Some(most) = most else { continue };
            let known = own[at].min(self.hearsay[at]);
            self.hearsay[at] -= known;
            self.left[at] -= own[at] - known;
            let more = (self.left[at] - (most - used[at])).max(0.0);
            self.left[at] -= more;
            self.hearsay[at] += more;
        }
    }

    /// By this process: in all, and what has not come back.
    pub(super) fn spent_here(&self) -> ([f64; 3], [f64; 3]) {
        (self.spent, self.own)
    }

    /// Of calls, seconds and bytes: what has not come back.
    pub(super) fn used(&self) -> [f64; 3] {
        self.left().map(|left| left.map_or(0.0, |(left, most)| (most - left).max(0.0)))
    }

    pub(super) fn running(&self) -> u32 {
        self.running
    }

    /// Of calls, seconds and bytes: what is left, and of how much.
    pub(super) fn left(&self) -> [Option<(f64, f64)>; 3] {
        let most = self.limits.most();
        std::array::from_fn(|at| most[at].map(|most| (self.left[at], most)))
    }

    /// The smallest part that is left of anything.
    pub(super) fn left_share(&self) -> f64 {
        let refilling = self.left().into_iter().flatten().map(|(left, most)| left / most);
        let running = self.limits.concurrent.map(|most| 1.0 - f64::from(self.running) / f64::from(most));
        refilling.chain(running).fold(1.0, f64::min)
    }

    /// Whether it differs from a new one.
    pub(super) fn is_used(&self) -> bool {
        self.running > 0 || self.left().into_iter().flatten().any(|(left, most)| left < most)
    }
}

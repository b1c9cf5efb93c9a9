//! A budget for compiling one plugin's listing: its schemas, their patterns, and its URI
//! templates.
//!
//! Only counts. Costs are estimated before compiling, and rounded up.

use std::time::{Duration, Instant};

use super::pattern::PatternCost;
use crate::os::usage;

/// Maximum patterns of a listing.
pub(in crate::plugin) const PATTERNS: usize = 256;
/// Maximum bytes of all that is compiled.
pub(in crate::plugin) const BYTES: usize = 32 << 20;
/// Maximum processor time. Schemas of plugins take milliseconds; under a tool that counts instructions, seconds.
const TIME: Duration = Duration::from_secs(5);
/// Maximum NFA states of all templates without a small DFA: a URI may be matched against all of
/// them.
const TEMPLATE_STATES: u64 = 512;

/// The remaining budget. Of one thread: that is whose processor time it counts.
#[derive(Debug)]
pub(in crate::plugin) struct Allowance {
    patterns: usize,
    bytes: usize,
    template_states: u64,
    began: Began,
    time: Duration,
    was_late: bool,
}

/// When compiling began.
#[derive(Debug, Clone, Copy)]
enum Began {
    /// Processor time of the thread: what others do on a busy machine does not count.
    Thread(Duration),
    /// For systems that do not say it.
    Wall(Instant),
}

impl Began {
    fn now() -> Self {
        usage::thread_cpu().map_or_else(|| Self::Wall(Instant::now()), Self::Thread)
    }

    fn elapsed(self) -> Duration {
        match self {
            Self::Thread(began) => usage::thread_cpu().unwrap_or_default().saturating_sub(began),
            Self::Wall(began) => began.elapsed(),
        }
    }
}

impl Allowance {
    /// For one listing, or the questions of one round; its time starts now.
    pub(in crate::plugin) fn new() -> Self {
        Self {
            patterns: PATTERNS,
            bytes: BYTES,
            template_states: TEMPLATE_STATES,
            began: Began::now(),
            time: TIME,
            was_late: false,
        }
    }

    /// The remaining bytes.
    pub(in crate::plugin) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether something was not compiled for want of time.
    pub(in crate::plugin) fn was_late(&self) -> bool {
        self.was_late
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// If too few are left, or the time is up.
    pub(in crate::plugin) fn take(&mut self, bytes: usize) -> Result<(), String> {
        if self.began.elapsed() > self.time {
            self.was_late = true;
            return Err(format!("compiling the plugin's schemas took more than {} ms", self.time.as_millis()));
        }
        self.bytes = self
            .bytes
            .checked_sub(bytes)
            .ok_or_else(|| format!("the plugin's schemas and patterns take more than {} MiB compiled", BYTES >> 20))?;
        Ok(())
    }

    /// Takes a pattern and its bytes.
    pub(in crate::plugin) fn take_pattern(&mut self, cost: &PatternCost) -> Result<(), String> {
        self.patterns = self
            .patterns
            .checked_sub(1)
            .ok_or_else(|| format!("the plugin's schemas have more than {PATTERNS} patterns"))?;
        self.take(cost.bytes)
    }

    /// Takes the pattern of a URI template.
    pub(in crate::plugin) fn take_template(&mut self, cost: &PatternCost) -> Result<(), String> {
        let states = cost.slow_states();
        self.template_states = self.template_states.checked_sub(states).ok_or_else(|| {
            format!("matching URIs against the plugin's templates takes more than {TEMPLATE_STATES} states")
        })?;
        self.take(cost.bytes)
    }

    #[cfg(test)]
    pub(in crate::plugin) fn late() -> Self {
        Self { time: Duration::ZERO, ..Self::new() }
    }
}

#[test]
fn the_allowance_limits_count_size_and_time() {
    let one = PatternCost::of_schema("^[a-z]+$", BYTES).expect("a pattern");
    let mut all = Allowance::new();
    for _ in 0..PATTERNS {
        assert_eq!(all.take_pattern(&one), Ok(()));
    }
    assert!(all.take_pattern(&one).expect_err("one more").contains("256 patterns"));
    let mut all = Allowance::new();
    assert_eq!(all.take(BYTES), Ok(()));
    assert!(all.take(1).expect_err("one more").contains("32 MiB"));
    assert!(Allowance::late().take(1).expect_err("late").contains("more than 0 ms"));
}

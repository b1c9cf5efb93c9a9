//! Resources of a process, as counted by the kernel.

use std::fs;
use std::time::Duration;

use crate::support::process::resident;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// Bytes.
    pub(crate) resident: u64,
    /// Open descriptors.
    pub(crate) files: usize,
    pub(crate) threads: usize,
}

/// Allowed growth of memory after an attack that is not on memory, in bytes.
pub(crate) const MORE_BYTES: u64 = 16 << 20;
const MORE_THREADS: usize = 2;

/// CPU time of a process so far, over all its threads.
pub(crate) fn computed(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Fields after the name in parentheses: state, parent, … user and system time, in ticks of 10 ms.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

impl Levels {
    pub(crate) fn of(process: u32) -> Self {
        let count = |what: &str| fs::read_dir(format!("/proc/{process}/{what}")).map_or(0, Iterator::count);
        Self { resident: resident(process), files: count("fd"), threads: count("task") }
    }

    /// Whether all levels are back at those before, except for `more` bytes of memory.
    pub(crate) fn is_back_at(&self, before: &Self, more: u64) -> bool {
        self.resident <= before.resident + more
            && self.files <= before.files
            && self.threads <= before.threads + MORE_THREADS
    }
}

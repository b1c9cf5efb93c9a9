//! What a process holds, as the kernel counts it.

use std::fs;

use crate::support::process::resident;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// Bytes.
    pub(crate) resident: u64,
    /// Open descriptors.
    pub(crate) files: usize,
    pub(crate) threads: usize,
}

/// What may be left of an attack.
const MORE_BYTES: u64 = 16 << 20;
const MORE_THREADS: usize = 2;

impl Levels {
    pub(crate) fn of(process: u32) -> Self {
        let count = |what: &str| fs::read_dir(format!("/proc/{process}/{what}")).map_or(0, Iterator::count);
        Self { resident: resident(process), files: count("fd"), threads: count("task") }
    }

    /// Whether all is as it was before.
    pub(crate) fn is_back_at(&self, before: &Self) -> bool {
        self.resident <= before.resident + MORE_BYTES
            && self.files <= before.files
            && self.threads <= before.threads + MORE_THREADS
    }
}

//! What this process uses.

use std::time::Duration;

/// Processor time; `None` if this system does not say.
#[cfg(unix)]
pub(crate) fn cpu() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(spent.tv_sec).ok()?, u32::try_from(spent.tv_nsec).ok()?))
}

#[cfg(not(unix))]
pub(crate) fn cpu() -> Option<Duration> {
    None
}

/// Bytes in memory; `None` if this system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn memory() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn memory() -> Option<u64> {
    None
}

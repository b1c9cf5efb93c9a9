//! What this process and its threads use.

use std::time::Duration;

/// Processor time; `None` if this system does not say.
#[cfg(unix)]
pub(crate) fn cpu() -> Option<Duration> {
    of(rustix::time::ClockId::ProcessCPUTime)
}

#[cfg(not(unix))]
pub(crate) fn cpu() -> Option<Duration> {
    None
}

/// Processor time of the calling thread; `None` if this system does not say.
#[cfg(unix)]
pub(crate) fn thread_cpu() -> Option<Duration> {
    of(rustix::time::ClockId::ThreadCPUTime)
}

#[cfg(not(unix))]
pub(crate) fn thread_cpu() -> Option<Duration> {
    None
}

#[cfg(unix)]
fn of(clock: rustix::time::ClockId) -> Option<Duration> {
    let spent = rustix::time::clock_gettime(clock);
    Some(Duration::new(u64::try_from(spent.tv_sec).ok()?, u32::try_from(spent.tv_nsec).ok()?))
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

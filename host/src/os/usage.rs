//! What this process and its threads use.

use std::time::Duration;

/// Processor time; `None` if this system does not say.
#[cfg(unix)]
pub(crate) fn cpu() -> Option<Duration> {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(spent.tv_sec).ok()?, u32::try_from(spent.tv_nsec).ok()?))
}

#[cfg(not(unix))]
pub(crate) fn cpu() -> Option<Duration> {
    None
}

/// Processor time of the calling thread; `None` if this system does not say. By the C library: rustix looks for the
/// function in the kernel's own page, which is not there under valgrind, and crashes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a function of the C library that writes to the place that it is given")]
pub(crate) fn thread_cpu() -> Option<Duration> {
    let mut spent = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes nowhere else, and may be called at any time, by any thread (clock_gettime(3): MT-Safe).
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut spent) } != 0;
    let spent = Duration::new(u64::try_from(spent.tv_sec).ok()?, u32::try_from(spent.tv_nsec).ok()?);
    (!failed).then_some(spent)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_cpu() -> Option<Duration> {
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

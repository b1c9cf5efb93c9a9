//! Returns freed memory to the system.
//!
//! glibc retains it: after a burst of responses of megabytes each, a server would keep hundreds of
//! megabytes. Other allocators that were measured use twice as much from the start. No threshold of
//! glibc suffices: if message buffers are returned when they are freed, each call faults in new pages,
//! and a call with 1 MiB takes half as long again. So glibc retains up to [`RETAINED`], and a thread
//! trims the heap periodically.

use std::fs;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use rustix::mm::{Advice, madvise};

const TRIM_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes of one buffer, or at the end of one thread's heap, that glibc retains: more than the largest
/// message by default. Fixed, since glibc otherwise adapts its thresholds to the buffers, and a few
/// buffers of 1 MiB that are freed together exceed them each time.
#[cfg(target_env = "gnu")]
const RETAINED: libc::c_int = 8 << 20;
/// In pages of 4 KiB: how far the process may grow above its minimum before it is trimmed (16 MiB).
const MAX_GROWTH: u64 = 16 << 8;

/// Starts a thread that trims the heap periodically, until the process ends.
pub(crate) fn start_trimming() {
    let trim_periodically = || {
        let Some(mut minimum) = resident() else { return };
        loop {
            thread::sleep(TRIM_INTERVAL);
            let Some(now) = resident() else { return };
            minimum = minimum.min(now);
            if now < minimum + MAX_GROWTH {
                continue;
            }
            trim();
            // No number that is cheap to read shows how much could be returned, so a process of this
            // size is trimmed each time.
            tracing::debug!(before = now, after = resident(), "resident pages after returning memory");
        }
    };
    if let Err(error) = thread::Builder::new().name("heap".to_owned()).stack_size(64 << 10).spawn(trim_periodically) {
        tracing::debug!(%error, "freed memory is not returned to the system");
    }
}

/// Resident pages; `None` if `/proc` is not available.
fn resident() -> Option<u64> {
    fs::read_to_string("/proc/self/statm").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// musl maps large buffers separately and returns them when they are freed.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "a function of the C library that takes no pointer")]
fn trim() {
    // SAFETY: it may be called at any time, by any thread (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

/// Sets how much memory the C library retains. Must be called while there is one thread.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "a function of the C library that takes no pointer")]
pub(crate) fn retain_buffers() {
    for limit in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: no other thread allocates meanwhile (mallopt(3): MT-Unsafe init, const:mallopt).
        if unsafe { libc::mallopt(limit, RETAINED) } == 0 {
            tracing::debug!("mallopt failed; the C library decides when to return memory");
        }
    }
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn retain_buffers() {}

/// Drops pages of a mapping from memory until they are read again.
///
/// # Safety
/// They must belong to a private mapping of a file that does not change, and must not have been
/// written: changes are lost, and anonymous memory would read as zeros.
#[allow(unsafe_code, reason = "advice that discards changes")]
pub(crate) unsafe fn unmap(pages: Range<*const u8>) {
    let length = pages.end.addr() - pages.start.addr();
    // SAFETY: the caller guarantees it.
    let advised = unsafe { madvise(pages.start.cast_mut().cast(), length, Advice::LinuxDontNeed) };
    // It fails for locked memory, for example, which then stays resident.
    let _ = advised;
}

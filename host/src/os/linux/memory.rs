//! Memory that is not needed: gives what was freed back to the system, when there is much of it.
//!
//! glibc keeps it: after a burst of answers of megabytes each a server would weigh hundreds of
//! them for ever. Other allocators were measured too: they weigh twice as much from the start.
//! No threshold of glibc's own does both: where buffers of a message are given back as soon as
//! they are freed, each call touches new pages for them, and one of 1 MiB takes half as long again.
//! So these stay, up to [`KEPT`], until the next look.

use std::fs;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use rustix::mm::{Advice, madvise};

/// Between two looks.
const OFTEN: Duration = Duration::from_secs(10);
/// Bytes of one buffer, or at the end of one thread's heap, that are not given back at once: more
/// than the largest messages by default. Fixed, since glibc's own limits follow the buffers that
/// come, and a few of 1 MiB that are freed together pass them each time.
#[cfg(target_env = "gnu")]
const KEPT: libc::c_int = 8 << 20;
/// Pages of 4 KiB, 16 MiB: what the process may have grown by over its least.
const MUCH: u64 = 16 << 8;

/// Looks now and then, on a thread of its own, for as long as the process lives.
pub(crate) fn keep_trimmed() {
    let look = || {
        let Some(mut least) = resident() else { return };
        loop {
            thread::sleep(OFTEN);
            let Some(now) = resident() else { return };
            least = least.min(now);
            if now < least + MUCH {
                continue;
            }
            trim();
            // What is in use now and freed later changes no number that can be read cheaply: as
            // long as the process is that large, it is trimmed at each look.
            tracing::debug!(before = now, after = resident(), "resident pages after returning memory");
        }
    };
    if let Err(error) = thread::Builder::new().name("heap".to_owned()).stack_size(64 << 10).spawn(look) {
        tracing::debug!(%error, "freed memory is not returned to the system");
    }
}

/// Pages in memory. `None`: this system does not say.
fn resident() -> Option<u64> {
    fs::read_to_string("/proc/self/statm").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// musl maps large buffers by themselves, and gives them back.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "a function of the C library that takes no pointer")]
fn trim() {
    // SAFETY: it may be called at any time, by any thread (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(target_env = "gnu"))]
fn trim() {}

/// Sets what the C library keeps. To be called while there is one thread.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code, reason = "a function of the C library that takes no pointer")]
pub(crate) fn keep_buffers() {
    for limit in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: no other thread allocates meanwhile (mallopt(3): MT-Unsafe init, const:mallopt).
        if unsafe { libc::mallopt(limit, KEPT) } == 0 {
            tracing::debug!("mallopt failed; the C library decides when to return memory");
        }
    }
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn keep_buffers() {}

/// Takes pages out of this process's mappings until they are read again.
///
/// # Safety
/// They must be of a private mapping of a file that does not change, and nothing was written there:
/// what was is lost. In memory that no file backs they would be zeros.
#[allow(unsafe_code, reason = "advice that throws away what was written")]
pub(crate) unsafe fn unmap(pages: Range<*const u8>) {
    let length = pages.end.addr() - pages.start.addr();
    // SAFETY: the caller sees to it.
    let advised = unsafe { madvise(pages.start.cast_mut().cast(), length, Advice::LinuxDontNeed) };
    // Locked memory, for one, stays.
    let _ = advised;
}

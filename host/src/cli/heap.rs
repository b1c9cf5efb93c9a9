//! Gives memory that was freed back to the system, when there is much of it.
//!
//! glibc keeps it: after a burst of answers of megabytes each a server would weigh hundreds of
//! them for ever. Other allocators were measured too: they weigh twice as much from the start,
//! and no threshold of glibc's own does both, since what is mapped anew for each large buffer
//! makes calls of 1 MiB three times as slow.

use std::fs;
use std::thread;
use std::time::Duration;

/// Between two looks.
const OFTEN: Duration = Duration::from_secs(10);
/// Pages of 4 KiB, 16 MiB: what the process may have grown by over its least.
const MUCH: u64 = 16 << 8;

/// Looks now and then, on a thread of its own, for as long as the process lives.
pub(super) fn keep_trimmed() {
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
            tracing::debug!(before = now, after = resident(), "pages after memory was given back");
        }
    };
    if let Err(error) = thread::Builder::new().name("heap".to_owned()).stack_size(64 << 10).spawn(look) {
        tracing::debug!(%error, "freed memory is not given back");
    }
}

/// Pages in memory. `None`: this system does not say.
fn resident() -> Option<u64> {
    fs::read_to_string("/proc/self/statm").ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// musl and other systems map large buffers by themselves, and give them back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "a function of the C library that takes no pointer")]
fn trim() {
    // SAFETY: it may be called at any time, by any thread (malloc_trim(3): MT-Safe).
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

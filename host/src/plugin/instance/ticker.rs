//! The epoch ticker, which makes guests yield: it ticks every millisecond while any guest runs.
//!
//! It does not measure time, since ticks are late on a busy machine: deadlines are timers, and CPU
//! time is summed where guests are polled.

use std::time::Duration;

use crate::sync::thread::{self, Thread};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering};

const TICK: Duration = Duration::from_millis(1);
/// How long it keeps ticking when no guest runs, so that a series of calls unparks it only once.
pub(in crate::plugin) const LINGER_TICKS: u32 = 100;

pub(in crate::plugin) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// The ticker runs while one of these exists.
pub(in crate::plugin) struct Ticking(Arc<Shared>);

impl Ticker {
    /// Starts the thread. It ends with the ticker, or when `tick` returns false. `idle` is called
    /// when no guest has run for `LINGER_TICKS`, before the thread parks.
    pub(in crate::plugin) fn start(
        mut tick: impl FnMut() -> bool + Send + 'static,
        idle: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let handle = thread::Builder::new().name("wharf-ticker".into()).spawn(move || {
            let mut idle_ticks = 0;
            while !of_thread.stop.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                if !tick() {
                    return;
                }
                if of_thread.running.load(Ordering::SeqCst) > 0 {
                    idle_ticks = 0;
                    continue;
                }
                idle_ticks += 1;
                if idle_ticks >= LINGER_TICKS {
                    of_thread.asleep.store(true, Ordering::SeqCst);
                    // Checked again after `asleep` was set: a call that began in between saw it
                    // unset and does not unpark.
                    if of_thread.running.load(Ordering::SeqCst) == 0 {
                        // A call that begins from here on unparks it.
                        idle();
                        thread::park();
                    }
                    of_thread.asleep.store(false, Ordering::SeqCst);
                    idle_ticks = 0;
                }
            }
        })?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    pub(in crate::plugin) fn run(&self) -> Ticking {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Ticking(self.shared.clone())
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

//! Model checks: synchronisation code of the host is built with `shuttle` in place of the standard
//! library's threads and locks, and run in thousands of interleavings.
//!
//! The interleavings are the same in each run. A failing one is printed, for `shuttle::replay`.

// The models use only some of the files' items.
#![allow(dead_code)]

mod plugin;
mod server;

/// A counter on which threads can wait.
///
/// Polling would hide deadlocks: `shuttle` allows spurious wake-ups of parked threads, as the standard
/// library does, while another thread is runnable. If all threads wait, it fails.
#[derive(Default)]
struct Count {
    now: shuttle::sync::Mutex<usize>,
    changed: shuttle::sync::Condvar,
}

impl Count {
    fn now(&self) -> usize {
        *self.now.lock().expect("no panic")
    }

    fn change(&self, change: impl FnOnce(&mut usize)) {
        change(&mut self.now.lock().expect("no panic"));
        self.changed.notify_all();
    }

    fn add(&self) {
        self.change(|now| *now += 1);
    }

    fn wait_until(&self, holds: impl Fn(usize) -> bool) {
        let now = self.now.lock().expect("no panic");
        drop(self.changed.wait_while(now, |now| !holds(*now)).expect("no panic"));
    }
}

/// Replaces `host/src/sync.rs`.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
    pub(crate) use shuttle::thread_local;

    pub(crate) mod thread {
        pub(crate) use shuttle::thread::{Builder, JoinHandle, Thread, park, spawn, yield_now};

        use shuttle::rand::{Rng as _, thread_rng};

        /// Time does not pass: other threads usually run first, but rarely the sleeper continues at
        /// once, as on a busy machine.
        pub(crate) fn sleep(time: std::time::Duration) {
            if thread_rng().gen_ratio(1, 500) {
                yield_now();
            } else {
                shuttle::thread::sleep(time);
            }
        }
    }

    pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// tokio's own, which `shuttle` cannot instrument: other threads may run before each step.
    #[derive(Default)]
    pub(crate) struct Notify(tokio::sync::Notify);

    impl Notify {
        pub(crate) fn notified(&self) -> tokio::sync::futures::Notified<'_> {
            thread::yield_now();
            self.0.notified()
        }

        pub(crate) fn notify_waiters(&self) {
            thread::yield_now();
            self.0.notify_waiters();
        }
    }
}

mod jsonrpc {
    pub(crate) use wharf::jsonrpc::RequestId;
}

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, MaxSteps, Runner};

/// Maximum number of steps of an interleaving; more is a failure.
const STEPS: usize = 200_000;

/// Runs a model in `orders` random interleavings, and in as many with few context switches, which
/// find bugs that need a switch at one certain place.
fn check(orders: usize, model: impl Fn() + Send + Sync + Clone + 'static) {
    run(RandomScheduler::new_from_seed(1, orders), model.clone());
    run(PctScheduler::new_from_seed(2, 3, orders), model);
}

fn run(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(model);
}

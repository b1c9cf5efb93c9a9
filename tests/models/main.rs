//! Files of the host that decide who waits for whom, built with `shuttle` in place of the standard
//! library's threads and locks, and run in thousands of orders in which threads can come.
//!
//! The orders are the same in each run. One that fails is printed, and `shuttle::replay` takes it.

// Of the files' items, the models use some.
#![allow(dead_code)]

mod plugin;
mod server;

/// A number that threads wait for.
///
/// One that only looked again and again would never find that nobody comes: `shuttle` may let a
/// thread that is parked go on for no reason, as the standard library may, for as long as any other
/// thread has something to do. Where all wait, it fails.
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

/// In place of `host/src/sync.rs`.
mod sync {
    pub(crate) use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
    pub(crate) use shuttle::thread_local;

    pub(crate) mod thread {
        pub(crate) use shuttle::thread::{Builder, JoinHandle, Thread, park, spawn, yield_now};

        use shuttle::rand::{Rng as _, thread_rng};

        /// There is no time: others may come first, and sooner or later they do, but not each time.
        /// A machine may be so busy that a thread gets on only when another has slept often.
        pub(crate) fn sleep(time: std::time::Duration) {
            if thread_rng().gen_ratio(1, 500) {
                yield_now();
            } else {
                shuttle::thread::sleep(time);
            }
        }
    }

    /// tokio's own, which `shuttle` does not see into: others may come before each of its steps.
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

/// Of one order: one that does not end fails as well.
const STEPS: usize = 200_000;

/// Runs a model in so many orders of either kind: any, and those with few switches between threads,
/// which find what needs a switch at one certain place.
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

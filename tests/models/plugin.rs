//! The fair semaphore, the poll limiter, the ticker of guests, and ready instances.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt as _;
use shuttle::future::block_on;

use crate::sync::{Arc, AtomicUsize, Ordering, thread};
use crate::{Count, check};

#[path = "../../host/src/plugin/limits/fair_semaphore.rs"]
mod fair_semaphore;
#[path = "../../host/src/plugin/instance/poll_limiter.rs"]
mod poll_limiter;
#[path = "../../host/src/plugin/instance/ready.rs"]
mod ready;
#[path = "../../host/src/plugin/instance/ticker.rs"]
mod ticker;

use fair_semaphore::FairSemaphore;
use poll_limiter::PollLimiter;
use ready::{ReadyInstances, Source};
use ticker::{Ticker, Ticking};

/// Checks how many threads are inside at the same time.
struct Inside {
    now: AtomicUsize,
    most: usize,
}

impl Inside {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { now: AtomicUsize::new(0), most })
    }

    fn pass(&self) {
        assert!(self.now.fetch_add(1, Ordering::SeqCst) < self.most, "more than the limit");
        thread::yield_now();
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn every_call_waiting_for_a_permit_is_woken() {
    check(2000, || {
        let (limiter, inside) = (Arc::new(PollLimiter::new(1)), Inside::new(1));
        let mut threads: Vec<_> = (0..2)
            .map(|_| {
                let (limiter, inside) = (limiter.clone(), inside.clone());
                thread::spawn(move || {
                    let mut waiter = limiter.waiter();
                    for _ in 0..2 {
                        block_on(poll_fn(|context| match waiter.acquire(context) {
                            Some(_permit) => {
                                inside.pass();
                                Poll::Ready(())
                            }
                            None => Poll::Pending,
                        }));
                    }
                })
            })
            .collect();
        // One waiter that is dropped, woken or not, and one that is first polled by another task.
        let of_third = limiter.clone();
        threads.push(thread::spawn(move || {
            let mut waiter = of_third.waiter();
            drop(waiter.acquire(&Context::from_waker(Waker::noop())));
            thread::yield_now();
        }));
        let mut waiter = limiter.waiter();
        let first = waiter.acquire(&Context::from_waker(Waker::noop())).map(|_| inside.pass());
        if first.is_none() {
            block_on(poll_fn(|context| match waiter.acquire(context) {
                Some(_permit) => {
                    inside.pass();
                    Poll::Ready(())
                }
                None => Poll::Pending,
            }));
        }
        join(threads);
        assert!(limiter.waiter().acquire(&Context::from_waker(Waker::noop())).is_some());
        assert!(limiter.is_forgotten());
    });
}

#[test]
fn every_call_waiting_for_a_turn_is_served() {
    check(1000, || {
        let (semaphore, inside) = (FairSemaphore::new(2, 8, true), Inside::new(2));
        let mut threads: Vec<_> = ["alice", "alice", "bob"]
            .into_iter()
            .map(|caller| {
                let (semaphore, inside) = (semaphore.clone(), inside.clone());
                let caller = caller.into();
                thread::spawn(move || {
                    for _ in 0..2 {
                        let permit = block_on(semaphore.acquire(&caller)).expect("the queue has room");
                        inside.pass();
                        drop(permit);
                    }
                })
            })
            .collect();
        // One waiter that is dropped, served or not.
        let of_other = semaphore.clone();
        threads.push(thread::spawn(move || {
            let caller = "carol".into();
            let mut waiting = Box::pin(of_other.acquire(&caller));
            let _ = waiting.poll_unpin(&mut Context::from_waker(Waker::noop()));
            thread::yield_now();
        }));
        join(threads);
        assert!(semaphore.free() == 2 && semaphore.waiting() == 0 && semaphore.is_forgotten());
    });
}

/// A ticker, and how often it has ticked, become idle, and ended.
struct Clock {
    ticker: Ticker,
    ticks: Arc<Count>,
    idle: Arc<Count>,
    ended: Arc<Count>,
}

impl Clock {
    fn start() -> Self {
        /// Dropped when the ticker's thread ends.
        struct Lives(Arc<Count>);

        impl Drop for Lives {
            fn drop(&mut self) {
                self.0.add();
            }
        }

        let (ticks, idle, ended) = (Arc::<Count>::default(), Arc::<Count>::default(), Arc::<Count>::default());
        let (of_tick, of_idle, lives) = (ticks.clone(), idle.clone(), Lives(ended.clone()));
        let tick = move || {
            let _: &Lives = &lives;
            of_tick.add();
            true
        };
        let ticker = Ticker::start(tick, move || of_idle.add()).expect("a thread");
        Self { ticker, ticks, idle, ended }
    }

    /// Checks that it ticks for a guest, sleeps without one, and ends.
    fn serves(self) {
        let running = self.ticker.run();
        let ticked = self.ticks.now();
        // The second tick has begun after `run`.
        self.ticks.wait_until(|now| now >= ticked + 2);
        let slept = self.idle.now();
        drop(running);
        self.idle.wait_until(|now| now > slept);
        self.ends();
    }

    fn ends(self) {
        drop(self.ticker);
        self.ended.wait_until(|now| now == 1);
    }
}

const ABOUT_TO_SLEEP: usize = ticker::LINGER_TICKS as usize;

#[test]
fn the_ticker_ticks_for_a_guest_that_starts_as_it_falls_asleep() {
    check(1000, || {
        let clock = Clock::start();
        clock.ticks.wait_until(|now| now >= ABOUT_TO_SLEEP);
        clock.serves();
    });
}

#[test]
fn the_ticker_ticks_for_a_guest_that_starts_while_it_sleeps() {
    check(200, || {
        let clock = Clock::start();
        clock.idle.wait_until(|now| now >= 1);
        clock.serves();
    });
}

#[test]
fn the_ticker_ends_while_it_falls_asleep_or_sleeps() {
    check(500, || {
        let clock = Clock::start();
        clock.ticks.wait_until(|now| now >= ABOUT_TO_SLEEP);
        clock.ends();
    });
}

/// A plugin whose instances are counted.
struct Plugin {
    number: usize,
    /// Whether its instances may be made inline.
    inline: bool,
    ticker: Arc<Ticker>,
    instances: Arc<Count>,
    /// Threads that are making an instance in the shared slot.
    making: Arc<AtomicUsize>,
}

struct Instance {
    of: usize,
    instances: Arc<Count>,
}

impl Plugin {
    fn instance(&self) -> Instance {
        self.instances.add();
        Instance { of: self.number, instances: self.instances.clone() }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.instances.change(|now| *now -= 1);
    }
}

impl Source for Plugin {
    type Ready = Instance;
    type Used = Instance;
    type Busy = Ticking;

    fn busy(self: &Arc<Self>) -> Ticking {
        self.ticker.run()
    }

    fn make(self: &Arc<Self>) -> Option<Instance> {
        if !self.inline {
            return None;
        }
        assert_eq!(self.making.fetch_add(1, Ordering::SeqCst), 0, "two threads make an instance in one slot");
        let made = self.instance();
        self.making.fetch_sub(1, Ordering::SeqCst);
        Some(made)
    }
}

/// Ready instances and their ticker.
#[derive(Clone)]
struct Pool {
    ready: Arc<ReadyInstances<Plugin>>,
    ticker: Arc<Ticker>,
    ticks: Arc<Count>,
    instances: Arc<Count>,
    making: Arc<AtomicUsize>,
}

impl Pool {
    /// `ages`: the ticker drops unused instances.
    fn new(ages: bool) -> Self {
        let ready = Arc::new(ReadyInstances::<Plugin>::new());
        let (aging, idle) = (ready.clone(), ready.clone());
        let (ticks, instances) = (Arc::<Count>::default(), Arc::<Count>::default());
        let of_tick = ticks.clone();
        let tick = move || {
            if ages {
                aging.age();
            }
            of_tick.add();
            true
        };
        let idle = move || {
            if ages {
                idle.clear();
            }
        };
        let ticker = Arc::new(Ticker::start(tick, idle).expect("a thread"));
        Self { ready, ticker, ticks, instances, making: Arc::new(AtomicUsize::new(0)) }
    }

    fn plugin(&self, number: usize, inline: bool) -> Arc<Plugin> {
        let Self { ticker, instances, making, .. } = self.clone();
        Arc::new(Plugin { number, inline, ticker, instances, making })
    }

    fn call(&self, plugin: &Arc<Plugin>) {
        let running = plugin.busy();
        let instance = self.ready.take(plugin).unwrap_or_else(|| plugin.instance());
        assert_eq!(instance.of, plugin.number);
        self.ready.recycle(plugin, instance);
        drop(running);
        self.ready.on_idle();
    }

    fn is_empty_soon(&self) {
        self.instances.wait_until(|now| now == 0);
    }
}

/// In all interleavings of calls, idle threads and the ticker: a call gets an instance of its plugin,
/// the number of instances is bounded, and unused ones are dropped in the end.
fn no_instance_stays(clock_runs_on: bool) {
    check(200, move || {
        let pool = Pool::new(true);
        let call = |pool: &Pool, plugin: &Arc<Plugin>| {
            pool.call(plugin);
            // In the slot, in use by either thread, and being dropped.
            assert!(pool.instances.now() <= 3 + 2 + 2, "too many instances");
        };
        // Other threads take the remaining slots.
        pool.ready.on_idle();
        for _ in 1..ready::THREAD_SLOTS {
            let ready = pool.ready.clone();
            join(vec![thread::spawn(move || ready.on_idle())]);
        }
        let (one, other) = (pool.plugin(0, true), pool.plugin(1, true));
        let of_other = pool.clone();
        let caller = thread::spawn(move || (0..3).for_each(|_| call(&of_other, &other)));
        (0..3).for_each(|_| call(&pool, &one));
        join(vec![caller]);
        let _running = clock_runs_on.then(|| pool.ticker.run());
        pool.is_empty_soon();
    });
}

#[test]
fn no_instance_is_leaked() {
    no_instance_stays(false);
}

#[test]
fn no_instance_is_leaked_while_the_ticker_keeps_running() {
    no_instance_stays(true);
}

#[test]
fn no_instance_is_leaked_as_the_ticker_falls_asleep() {
    check(1000, || {
        let pool = Pool::new(true);
        let (one, of_other) = (pool.plugin(0, true), pool.clone());
        // In another slot.
        pool.ready.on_idle();
        let other = pool.plugin(1, true);
        let running = pool.ticker.run();
        join(vec![thread::spawn(move || of_other.call(&other))]);
        // At the second tick the ticker has seen the running guest.
        let ticked = pool.ticks.now();
        pool.ticks.wait_until(|now| now >= ticked + 2);
        let ticked = pool.ticks.now();
        drop(running);
        // The first of these ticks may have preceded the drop.
        pool.ticks.wait_until(|now| now + 1 >= ticked + ABOUT_TO_SLEEP);
        pool.call(&one);
        pool.is_empty_soon();
    });
}

#[test]
fn the_idle_hook_leaves_only_the_next_instances() {
    check(20, || {
        let pool = Pool::new(false);
        let (inline, slow) = (pool.plugin(0, true), pool.plugin(1, false));
        for _ in 0..3 {
            pool.call(&inline);
            assert_eq!(pool.instances.now(), 1);
        }
        pool.call(&slow);
        assert_eq!(pool.instances.now(), 1, "of the other plugin");
        let third = pool.plugin(2, true);
        for plugin in [&third, &inline, &third] {
            pool.call(plugin);
            assert_eq!(pool.instances.now(), 2, "one of each");
        }
    });
}

//! What short calls leave to be done between calls: to take their instances down, and to make
//! the next one.
//!
//! Whoever brings calls says when it waits for the next ([`super::sandbox::Sandbox::rest`]).
//! Where nobody does, the next call does it, or the ticker before it falls asleep: a process
//! that does nothing keeps no instance. Each instance still serves one call.
//!
//! A thread finds what it has left itself: memory that one thread takes and another gives back
//! has both wait for the allocator.

use std::cell::OnceCell;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use wasmtime::Store;

use super::call::Program;
use super::function::Live;
use super::state::State;

/// More threads than this share them.
const SHELVES: usize = 8;
/// Instances that exist beside those of the calls that run: on each shelf one that is ready and
/// one that is used.
pub(super) const BESIDE: u32 = 2 * SHELVES as u32;
/// Bytes; an instance that has taken more is taken down at once.
const LIGHT: u64 = 4 << 20;

/// An instance that nobody has called yet.
pub(super) struct Spare {
    pub(super) store: Store<State>,
    pub(super) live: Live,
}

pub(super) struct Spares {
    shelves: [Mutex<Shelf>; SHELVES],
    /// Threads that have come.
    threads: AtomicUsize,
    /// Dropping what a guest had open may need the runtime that it was opened in.
    guests: Handle,
}

#[derive(Default)]
struct Shelf {
    /// Whose call was the last that was short.
    last: Weak<Program>,
    /// Of that program.
    ready: Option<Spare>,
    /// Somebody makes one: two would be one too many.
    making: bool,
    used: Option<Store<State>>,
}

impl Shelf {
    fn is_of(&self, program: &Program) -> bool {
        std::ptr::eq(self.last.as_ptr(), program)
    }
}

impl Spares {
    pub(super) fn new(guests: Handle) -> Arc<Self> {
        Arc::new(Self { shelves: Default::default(), threads: AtomicUsize::new(0), guests })
    }

    /// An instance of this program, if one is ready.
    pub(super) fn take(&self, program: &Program) -> Option<Spare> {
        let mut shelf = self.shelf();
        if shelf.is_of(program) { shelf.ready.take() } else { None }
    }

    /// Leaves the instance of a call that went well for later.
    pub(super) fn put_away(&self, program: &Arc<Program>, store: Store<State>) {
        if store.data().quota.taken() > LIGHT {
            return;
        }
        let mut shelf = self.shelf();
        let used = shelf.used.replace(store);
        let ready = if shelf.is_of(program) {
            None
        } else {
            shelf.last = Arc::downgrade(program);
            shelf.ready.take()
        };
        // Not while others wait for the shelf.
        drop(shelf);
        drop((used, ready));
    }

    /// Does what there is to do.
    pub(super) fn rest(&self) {
        let mut shelf = self.shelf();
        let used = shelf.used.take();
        let wanting = if shelf.ready.is_none() && !shelf.making { shelf.last.upgrade() } else { None };
        shelf.making |= wanting.is_some();
        drop(shelf);
        let _entered = self.guests.enter();
        drop(used);
        let Some(program) = wanting else { return };
        // Until it is on the shelf: the ticker must not fall asleep before.
        let _ticking = program.sandbox.ticker().run();
        let spare = make(&program);
        let mut shelf = self.shelf();
        shelf.making = false;
        if spare.is_none() {
            shelf.last = Weak::new();
        }
        let other = if shelf.is_of(&program) { std::mem::replace(&mut shelf.ready, spare) } else { spare };
        drop(shelf);
        drop(other);
    }

    /// Takes everything down.
    pub(super) fn clear(&self) {
        let _entered = self.guests.enter();
        for shelf in &self.shelves {
            let taken = std::mem::take(&mut *lock(shelf));
            drop(taken);
        }
    }

    #[cfg(test)]
    pub(super) fn is_ready(&self) -> bool {
        self.shelves.iter().any(|shelf| lock(shelf).ready.is_some())
    }

    /// That of the thread that asks.
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        thread_local! {
            /// The how many-th it was. Any number will do, if few threads have the same.
            static NUMBER: OnceCell<usize> = const { OnceCell::new() };
        }
        let next = || self.threads.fetch_add(1, Ordering::Relaxed);
        let number = NUMBER.with(|number| *number.get_or_init(next));
        lock(&self.shelves[number % SHELVES])
    }
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next instance of a program; one that takes long to make is the last for a while.
fn make(program: &Arc<Program>) -> Option<Spare> {
    let began = Instant::now();
    let made = AssertUnwindSafe(program.spare()).catch_unwind().now_or_never();
    // A guest that does much when it starts, or waits, holds up whoever brings the calls. What
    // one instruction does cannot be interrupted, so also what was made is timed.
    let spare = made.and_then(Result::ok).flatten();
    program.took(if spare.is_some() { began.elapsed() } else { Duration::MAX });
    spare
}

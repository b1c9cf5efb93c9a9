//! What the calls of all plugins share: the engine, the guests' threads, the clock, the budgets.
//!
//! Knows no plugin.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use wasmtime::Engine;

use super::call::Program;
use super::checking::Checker;
use super::ready::ReadyInstances;
use super::ticker::Ticker;
use super::turns::Turns;
use crate::audit::Audit;
use crate::plugin::component::engine::SLOTS;
use crate::plugin::imports::granted::Resources;
use crate::plugin::limits::quota::Budget;
use crate::plugin::threads::Threads;

const FREEZING: usize = 2;

pub(in crate::plugin) struct Runtime {
    pub(in crate::plugin) engine: Engine,
    pub(in crate::plugin) ticker: Ticker,
    /// The threads that guests run on, and nothing else: one that spins or blocks delays other
    /// guests at worst, never the protocol.
    guests: Threads,
    pub(in crate::plugin) ready: Arc<ReadyInstances<Program>>,
    /// Bytes that all running guests together may hold.
    pub(in crate::plugin) memory: Arc<Budget>,
    /// A place in the pool of instances for each call. A call that waits for one has a turn of its
    /// plugin, which bounds their number.
    pub(in crate::plugin) slots: Arc<Turns>,
    pub(in crate::plugin) checker: Checker,
    pub(in crate::plugin) resources: Resources,
    pub(in crate::plugin) audit: Audit,
    /// Whether several callers share it.
    pub(in crate::plugin) shared: bool,
    /// Listings that are checked and compiled at the same time: each may take a core.
    pub(in crate::plugin) freezing: Semaphore,
    workers: u32,
}

impl Runtime {
    /// Starts the clock. `workers` are the threads of `guests`; `memory` is in bytes.
    ///
    /// # Errors
    /// If its thread cannot be started.
    pub(in crate::plugin) fn start(
        engine: Engine,
        guests: Threads,
        resources: Resources,
        audit: Audit,
        memory: u64,
        workers: usize,
        shared: bool,
    ) -> std::io::Result<Arc<Self>> {
        let ready = Arc::new(ReadyInstances::new());
        let memory = Arc::new(Budget::new(memory));
        Ok(Arc::new(Self {
            ticker: ticker(&engine, &ready, guests.handle())?,
            engine,
            guests,
            ready,
            checker: Checker::new(workers, memory.clone()),
            memory,
            slots: Turns::new(SLOTS, u32::MAX, shared),
            resources,
            audit,
            shared,
            freezing: Semaphore::new(FREEZING),
            workers: workers as u32,
        }))
    }

    pub(in crate::plugin) fn guests(&self) -> &Handle {
        self.guests.handle()
    }

    /// Threads that calls of one plugin may compute on: one stays free for the others.
    pub(super) fn threads_of_one(&self) -> u32 {
        self.workers.saturating_sub(1).max(1)
    }

    /// Takes used instances down and makes the next one. For a thread that brings calls, while it
    /// has no other to bring: it takes some tens of microseconds, at most some milliseconds.
    pub(in crate::plugin) fn on_idle(&self) {
        // Dropping what a guest had open may need the runtime that it was opened in.
        let _entered = self.guests().enter();
        self.ready.on_idle();
    }
}

/// Starts the clock of an engine, which it holds weakly, and of what waits to be called.
fn ticker(engine: &Engine, ready: &Arc<ReadyInstances<Program>>, guests: &Handle) -> std::io::Result<Ticker> {
    let engine = engine.weak();
    let (aging, idle) = (ready.clone(), ready.clone());
    let (handle, guests) = (guests.clone(), guests.clone());
    let tick = move || {
        let Some(engine) = engine.upgrade() else { return false };
        engine.increment_epoch();
        let _entered = handle.enter();
        aging.age();
        true
    };
    Ticker::start(tick, move || {
        let _entered = guests.enter();
        idle.clear();
    })
}

//! Shared by the calls of all plugins: the engine, the guests' threads, the ticker, the budgets.
//!
//! Independent of any plugin.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use wasmtime::Engine;

use super::call::PreparedComponent;
use super::checking::Checker;
use super::ready::ReadyInstances;
use super::ticker::Ticker;
use crate::audit::Audit;
use crate::plugin::component::engine::SLOTS;
use crate::plugin::imports::granted::Resources;
use crate::plugin::limits::TaskLimits;
use crate::plugin::limits::fair_semaphore::FairSemaphore;
use crate::plugin::limits::quota::ByteBudget;
use crate::plugin::skills::SkillRoom;
use crate::plugin::surface::SchemaStyle;
use crate::plugin::tape::Recorder;
use crate::plugin::threads::Threads;

const MAX_FREEZING: usize = 2;

pub(in crate::plugin) struct Runtime {
    pub(in crate::plugin) engine: Engine,
    pub(in crate::plugin) ticker: Ticker,
    /// Threads that run only guests: a guest that spins or blocks can delay other guests, never the
    /// protocol.
    guests: Threads,
    pub(in crate::plugin) ready: Arc<ReadyInstances<PreparedComponent>>,
    /// The memory budget of all running guests.
    pub(in crate::plugin) memory: Arc<ByteBudget>,
    /// Slots of the instance pool. A call that waits for one holds a permit of its
    /// plugin, which bounds their number.
    pub(in crate::plugin) slots: Arc<FairSemaphore>,
    /// The same for calls that may become tasks, which would hold those of the others for long.
    pub(in crate::plugin) task_slots: Arc<FairSemaphore>,
    pub(in crate::plugin) checker: Checker,
    pub(in crate::plugin) resources: Resources,
    pub(in crate::plugin) audit: Audit,
    /// Whether there are several callers.
    pub(in crate::plugin) shared: bool,
    /// Permits for checking and compiling listings: each may take a core.
    pub(in crate::plugin) freezing: Semaphore,
    pub(in crate::plugin) schemas: SchemaStyle,
    pub(in crate::plugin) skills: SkillRoom,
    pub(in crate::plugin) recorder: Recorder,
    workers: u32,
}

/// What a sandbox's settings give to its runtime.
pub(in crate::plugin) struct RuntimeSettings {
    pub(in crate::plugin) audit: Audit,
    /// Maximum bytes of memory of all running guests together.
    pub(in crate::plugin) memory: u64,
    /// The guests' threads.
    pub(in crate::plugin) workers: usize,
    /// Whether there are several callers.
    pub(in crate::plugin) shared: bool,
    pub(in crate::plugin) schemas: SchemaStyle,
    pub(in crate::plugin) recorder: Recorder,
}

impl Runtime {
    /// Starts the ticker.
    ///
    /// # Errors
    /// If the ticker's thread cannot be started.
    pub(in crate::plugin) fn start(
        engine: Engine,
        guests: Threads,
        resources: Resources,
        settings: RuntimeSettings,
    ) -> std::io::Result<Arc<Self>> {
        let RuntimeSettings { audit, memory, workers, shared, schemas, recorder } = settings;
        let ready = Arc::new(ReadyInstances::new());
        let memory = Arc::new(ByteBudget::new(memory));
        Ok(Arc::new(Self {
            ticker: ticker(&engine, &ready, guests.handle())?,
            engine,
            guests,
            ready,
            checker: Checker::new(workers, memory.clone()),
            memory,
            slots: FairSemaphore::new(SLOTS, u32::MAX, shared),
            task_slots: FairSemaphore::new(TaskLimits::MAX_CONCURRENCY, u32::MAX, shared),
            resources,
            audit,
            shared,
            freezing: Semaphore::new(MAX_FREEZING),
            schemas,
            skills: SkillRoom::default(),
            recorder,
            workers: workers as u32,
        }))
    }

    pub(in crate::plugin) fn guests(&self) -> &Handle {
        self.guests.handle()
    }

    /// Threads that run guests.
    pub(in crate::plugin) fn workers(&self) -> u32 {
        self.workers
    }

    /// Threads that calls of one plugin may use at a time: one stays free for other plugins.
    pub(super) fn threads_per_plugin(&self) -> u32 {
        self.workers.saturating_sub(1).max(1)
    }

    /// Drops the used instance and makes the next one. For a transport's thread while it is idle: it
    /// takes tens of microseconds, at most a few milliseconds.
    pub(in crate::plugin) fn on_idle(&self) {
        // Dropping a guest's resources may need the runtime in which they were opened.
        let _entered = self.guests().enter();
        self.ready.on_idle();
    }
}

/// Starts the ticker of an engine, which it holds weakly, and of the ready instances.
fn ticker(engine: &Engine, ready: &Arc<ReadyInstances<PreparedComponent>>, guests: &Handle) -> std::io::Result<Ticker> {
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

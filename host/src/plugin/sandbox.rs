//! What all plugins share: the engine, the linker, the guests' threads, the budgets.
//!
//! Knows no plugin. A plugin is made by `load`, called by `call`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

use super::component::cache::Cache;
use super::component::engine;
use super::component::engine::Allocation;
use super::dialects::linked::InUse;
use super::dialects::wasmcp;
use super::imports;
use super::imports::filesystem::{Closed, OPEN_IN_ALL};
use super::imports::keyvalue::Store;
use super::imports::outbound::{Outbound, OutboundSettings};
use super::imports::state::State;
use super::instance::call::Program;
use super::instance::checking;
use super::instance::spare::Spares;
use super::instance::ticker::Ticker;
use super::instance::turns::Turns;
use super::limits::quota::Budget;
use super::threads::Threads;
use crate::audit::Audit;

/// Threads for file system calls of guests; no other part of the process waits for them.
const BLOCKING_THREADS: usize = 64;

/// Components that are compiled at the same time. Each takes a core, at a low priority, and a
/// hostile one a gigabyte.
const COMPILERS: usize = 2;

/// Where components are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In a limited child process: this program, with the hidden argument
    /// [`super::component::compile::WORKER`]. A hostile component can cost 20 s and a gigabyte that a
    /// process never gives back.
    ChildProcess(PathBuf),
    /// In this process, for tests and where there are no child processes.
    InProcess,
}

/// How a sandbox is set up.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// Where compiled components are kept; none are without it.
    pub cache_dir: Option<PathBuf>,
    pub compiler: Compiler,
    /// Whether a compiler in a child process can open nothing and call little of the system.
    pub second_wall: bool,
    /// The database file of what plugins store, made when it is first needed; without it
    /// that is kept in memory.
    pub store: Option<PathBuf>,
    /// Folders that no plugin is given, also if it is granted them.
    pub closed: Closed,
    /// Hears which plugins are left alone.
    pub audit: Audit,
    /// Bytes that all running guests together may hold.
    pub memory_budget: u64,
    /// Threads that run guests. One of them is kept free of any one plugin.
    pub workers: usize,
    /// HTTP that plugins send.
    pub outbound: OutboundSettings,
    /// Whether several callers share it: then none of them has all turns of a plugin, and not all
    /// instances, at the same time.
    pub shared: bool,
}

impl Default for SandboxSettings {
    /// No cache, no file to store in, compiled in this process, 1 GiB, a thread per core but at least four:
    /// on a small machine a plugin that only waits must not wait for itself.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            cache_dir: None,
            compiler: Compiler::InProcess,
            second_wall: true,
            store: None,
            closed: Closed::default(),
            audit: Audit::default(),
            memory_budget: 1 << 30,
            workers: cores.max(4),
            outbound: OutboundSettings::default(),
            shared: false,
        }
    }
}

/// The shared part of all plugins of a process.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<State>,
    ticker: Ticker,
    /// The threads that guests run on, and nothing else: one that spins or blocks delays other
    /// guests at worst, never the protocol.
    guests: Threads,
    spares: Arc<Spares<Program>>,
    budget: Arc<Budget>,
    slots: Arc<Turns>,
    shared: bool,
    workers: u32,
    pub(in crate::plugin) store: Arc<Store>,
    pub(in crate::plugin) outbound: Arc<Outbound>,
    pub(in crate::plugin) closed: Arc<Closed>,
    /// What all calls may have open of their folders.
    pub(in crate::plugin) files: Arc<Semaphore>,
    pub(in crate::plugin) audit: Audit,
    pub(in crate::plugin) compiler: Compiler,
    pub(in crate::plugin) second_wall: bool,
    pub(in crate::plugin) compiling: Semaphore,
    pub(in crate::plugin) cache: Option<Arc<Cache>>,
    pub(in crate::plugin) in_use: InUse,
    /// Surfaces that are being made of listings.
    pub(in crate::plugin) freezing: Semaphore,
    checking: Semaphore,
}

impl Sandbox {
    /// Makes the engine, starts its threads and opens the cache. A cache that cannot be
    /// used costs the cache alone.
    ///
    /// # Errors
    /// If the engine cannot be made on this machine, or threads cannot be started.
    pub fn new(settings: SandboxSettings) -> anyhow::Result<Arc<Self>> {
        let engine = shared_engine()?;
        let mut linker = Linker::new(&engine);
        imports::link(&mut linker)
            .and_then(|()| wasmcp::link(&mut linker))
            .map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        let workers = settings.workers.max(1);
        let cache = settings.cache_dir.map(|dir| Arc::new(Cache::open(dir, &engine)));
        let guests = Threads::start("wharf-guest", workers, BLOCKING_THREADS)?;
        let spares = Arc::new(Spares::new());
        let ticker = ticker(&engine, &spares, guests.handle())?;
        Ok(Arc::new(Self {
            ticker,
            spares,
            guests,
            budget: Arc::new(Budget::new(settings.memory_budget)),
            // A call that waits for one has a turn of its plugin, which bounds their number.
            slots: Turns::new(engine::SLOTS, u32::MAX, settings.shared),
            shared: settings.shared,
            workers: workers as u32,
            store: Store::new(settings.store),
            outbound: Outbound::start(settings.outbound)?,
            closed: Arc::new(settings.closed),
            files: Arc::new(Semaphore::new(OPEN_IN_ALL)),
            audit: settings.audit,
            compiler: settings.compiler,
            second_wall: settings.second_wall,
            compiling: Semaphore::new(COMPILERS),
            cache,
            in_use: InUse::default(),
            freezing: Semaphore::new(COMPILERS),
            checking: checking::room(workers),
            engine,
            linker,
        }))
    }

    pub(in crate::plugin) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(in crate::plugin) fn linker(&self) -> &Linker<State> {
        &self.linker
    }

    pub(in crate::plugin) fn ticker(&self) -> &Ticker {
        &self.ticker
    }

    /// Does what short calls have left to be done. For a thread that brings calls, when it has
    /// no other to bring: it takes some tens of microseconds, at most some milliseconds.
    pub fn rest(&self) {
        // Dropping what a guest had open may need the runtime that it was opened in.
        let _entered = self.guests().enter();
        self.spares.rest();
    }

    pub(in crate::plugin) fn spares(&self) -> &Spares<Program> {
        &self.spares
    }

    pub(in crate::plugin) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(in crate::plugin) fn slots(&self) -> &Arc<Turns> {
        &self.slots
    }

    /// Whether several callers share it.
    pub(in crate::plugin) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Places of checks of values that take longer.
    pub(in crate::plugin) fn checking(&self) -> &Semaphore {
        &self.checking
    }

    pub(in crate::plugin) fn guests(&self) -> &Handle {
        self.guests.handle()
    }

    /// Threads that calls of one plugin may compute on: one stays free for the others.
    pub(in crate::plugin) fn threads_of_one(&self) -> u32 {
        self.workers.saturating_sub(1).max(1)
    }
}

/// Starts the clock of an engine, which it holds weakly, and of what waits to be called.
fn ticker(engine: &Engine, spares: &Arc<Spares<Program>>, guests: &Handle) -> std::io::Result<Ticker> {
    let engine = engine.weak();
    let (aging, idle) = (spares.clone(), spares.clone());
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

fn shared_engine() -> anyhow::Result<Engine> {
    match engine::engine(Allocation::Pooling) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!("set aside no address space for instances, calls will be slower: {error:#}");
            engine::engine(Allocation::OnDemand).map_err(|error| anyhow::anyhow!("make the engine: {error:#}"))
        }
    }
}

//! What all plugins share: the engine, the linker, the guests' threads, the budgets.
//!
//! Knows no plugin. A plugin is made by `load`, called by `call`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

use super::abi;
use super::cache::Cache;
use super::engine::{self, Allocation};
use super::keyvalue::Store;
use super::quota::Budget;
use super::state::State;
use super::ticker::Ticker;

/// Threads for file system calls of guests; no other part of the process waits for them.
const BLOCKING_THREADS: usize = 64;

/// Where components are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In a limited child process: this program, with the hidden argument
    /// [`super::compile::WORKER`]. A hostile component can cost 20 s and a gigabyte that a
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
    /// Bytes that all running guests together may hold.
    pub memory_budget: u64,
    /// Threads that run guests. One of them is kept free of any one plugin.
    pub workers: usize,
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
            memory_budget: 1 << 30,
            workers: cores.max(4),
        }
    }
}

/// The shared part of all plugins of a process.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<State>,
    ticker: Ticker,
    guests: Guests,
    budget: Arc<Budget>,
    slots: Arc<Semaphore>,
    workers: u32,
    pub(super) store: Arc<Store>,
    pub(super) compiler: Compiler,
    pub(super) second_wall: bool,
    pub(super) compiling: Semaphore,
    pub(super) cache: Option<Arc<Cache>>,
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
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        abi::link(&mut linker).map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        abi::wasi_keyvalue::link(&mut linker).map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        let workers = settings.workers.max(1);
        let cache = settings.cache_dir.and_then(|dir| Cache::open(dir, &engine).map(Arc::new));
        Ok(Arc::new(Self {
            ticker: Ticker::start(&engine)?,
            guests: Guests::start(workers)?,
            budget: Arc::new(Budget::new(settings.memory_budget)),
            slots: Arc::new(Semaphore::new(engine::SLOTS as usize)),
            workers: workers as u32,
            store: Store::new(settings.store),
            compiler: settings.compiler,
            second_wall: settings.second_wall,
            compiling: Semaphore::new(1),
            cache,
            engine,
            linker,
        }))
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn linker(&self) -> &Linker<State> {
        &self.linker
    }

    pub(super) fn ticker(&self) -> &Ticker {
        &self.ticker
    }

    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    pub(super) fn slots(&self) -> &Arc<Semaphore> {
        &self.slots
    }

    pub(super) fn guests(&self) -> &Handle {
        self.guests.handle()
    }

    /// Calls of one plugin that may run at once: one thread stays free for the others.
    pub(super) fn max_concurrency(&self) -> u32 {
        self.workers.saturating_sub(1).max(1)
    }
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

/// The runtime that guests run on, and nothing else: one that spins or blocks delays
/// other guests at worst, never the protocol.
struct Guests(Option<Runtime>);

impl Guests {
    fn start(workers: usize) -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("wharf-guest")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime lives until it is dropped").handle()
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        // The last owner may be an async task, where a runtime must not be waited for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

//! What all plugins share, and how it is set up: the engine, the linker, the compiler, the threads.
//!
//! Knows no plugin. One is made by `load`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

use super::component::compile::{Compilation, Compiler};
use super::component::engine::{self, Allocation};
use super::dialects;
use super::dialects::linked::InUse;
use super::imports;
use super::imports::filesystem::{Closed, OPEN_IN_ALL};
use super::imports::granted::Resources;
use super::imports::keyvalue::Store;
use super::imports::outbound::{Outbound, OutboundSettings};
use super::imports::state::State;
use super::instance::ready::BESIDE;
use super::instance::runtime::Runtime;
use super::threads::Threads;
use crate::audit::Audit;

/// Threads for file system calls of guests; no other part of the process waits for them.
const BLOCKING_THREADS: usize = 64;

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
    pub(in crate::plugin) runtime: Arc<Runtime>,
    pub(in crate::plugin) linker: Linker<State>,
    pub(in crate::plugin) compilation: Arc<Compilation>,
    pub(in crate::plugin) in_use: InUse,
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
            .and_then(|()| dialects::link(&mut linker))
            .map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        let workers = settings.workers.max(1);
        let guests = Threads::start("wharf-guest", workers, BLOCKING_THREADS)?;
        let resources = Resources {
            store: Store::new(settings.store),
            outbound: Outbound::start(settings.outbound)?,
            closed: Arc::new(settings.closed),
            files: Arc::new(Semaphore::new(OPEN_IN_ALL)),
            runtime: guests.handle().clone(),
        };
        let (audit, memory, shared) = (settings.audit, settings.memory_budget, settings.shared);
        let compilation = Compilation::new(engine.clone(), settings.compiler, settings.second_wall, settings.cache_dir);
        Ok(Arc::new(Self {
            runtime: Runtime::start(engine, guests, resources, audit, memory, workers, shared)?,
            linker,
            compilation,
            in_use: InUse::default(),
        }))
    }

    /// As [`Runtime::on_idle`].
    pub fn on_idle(&self) {
        self.runtime.on_idle();
    }
}

fn shared_engine() -> anyhow::Result<Engine> {
    match engine::engine(Allocation::Pooling { beside: BESIDE }) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!("pooling allocator unavailable, calls will be slower: {error:#}");
            engine::engine(Allocation::OnDemand).map_err(|error| anyhow::anyhow!("make the engine: {error:#}"))
        }
    }
}

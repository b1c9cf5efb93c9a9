//! The resources that all plugins share: the engine, the linker, the compiler, the threads.
//!
//! Independent of any plugin; `load` makes one.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::Linker;

use super::component::compile::{Compilation, Compiled, Compiler};
use super::component::engine::{self, Allocation, EngineKind, SLOTS};
use super::dialects;
use super::dialects::linked::InUse;
use super::imports;
use super::imports::filesystem::{MAX_OPEN_IN_ALL, ProtectedFolders};
use super::imports::granted::Resources;
use super::imports::keyvalue::{Keyvalue, KeyvaluePlace};
use super::imports::outbound::{Outbound, OutboundSettings};
use super::imports::state::GuestState;
use super::instance::ready::MAX_EXTRA_INSTANCES;
use super::instance::runtime::{Runtime, RuntimeSettings};
use super::limits::TaskLimits;
use super::limits::fair_semaphore::FairSemaphore;
use super::policy::personal::{NoPersonalSecrets, PersonalSecrets};
use super::surface::SchemaStyle;
use super::tape::Recorder;
use super::threads::Threads;
use crate::audit::Audit;

/// Maximum threads for guests' file system calls; used for nothing else.
const BLOCKING_THREADS: usize = 64;

/// How the process of a plugin is started.
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    /// This program.
    pub program: PathBuf,
    /// Those that make it a worker, with how it writes its log.
    pub arguments: Vec<String>,
}

/// Settings of a sandbox.
#[derive(Clone)]
pub struct SandboxSettings {
    /// The cache of compiled components; `None` disables it.
    pub cache_dir: Option<PathBuf>,
    /// What its components may use. Those that need more have processes of their own.
    pub engine: EngineKind,
    pub compiler: Compiler,
    /// Whether a compiler in a child process runs in the OS sandbox (landlock, seccomp).
    pub os_sandbox: bool,
    /// Where plugins keep values between calls.
    pub keyvalue: KeyvaluePlace,
    /// Folders that must not be granted.
    pub protected: ProtectedFolders,
    /// Records quarantines.
    pub audit: Audit,
    /// Maximum bytes of memory of all running guests together.
    pub memory_budget: u64,
    /// Threads that run guests. One plugin uses at most one fewer.
    pub workers: usize,
    /// Outbound HTTP of plugins.
    pub outbound: OutboundSettings,
    /// Whether there are several callers: then none of them gets all permits of a plugin, or all
    /// instances.
    pub shared: bool,
    /// How clients are shown the schemas of tools.
    pub schemas: SchemaStyle,
    /// Secrets of which each caller has their own.
    pub personal: Arc<dyn PersonalSecrets>,
    /// Records calls.
    pub recorder: Recorder,
    /// Starts processes of plugins that have their own. `None`: there can be none.
    pub worker: Option<WorkerProgram>,
}

impl Default for SandboxSettings {
    /// No cache, values in memory, compiled in process, 1 GiB, a thread per core but at least four:
    /// on a small machine a blocked plugin must not starve the others.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            cache_dir: None,
            engine: EngineKind::default(),
            compiler: Compiler::InProcess,
            os_sandbox: true,
            keyvalue: KeyvaluePlace::Memory,
            protected: ProtectedFolders::default(),
            audit: Audit::default(),
            memory_budget: 1 << 30,
            workers: cores.max(4),
            outbound: OutboundSettings::default(),
            shared: false,
            schemas: SchemaStyle::default(),
            personal: Arc::new(NoPersonalSecrets),
            recorder: Recorder::default(),
            worker: None,
        }
    }
}

/// What runs in a sandbox at a moment.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    /// Calls that have a slot of the pool.
    pub calls: u64,
    /// Calls that wait for one.
    pub waiting: u64,
    /// Instances made before their calls.
    pub ready: u64,
    /// Bytes of memory of all guests.
    pub memory: u64,
}

/// Shared by all plugins of a process.
pub struct Sandbox {
    pub(in crate::plugin) runtime: Arc<Runtime>,
    pub(in crate::plugin) linker: Linker<GuestState>,
    pub(in crate::plugin) compilation: Arc<Compilation>,
    pub(in crate::plugin) in_use: InUse,
    pub(in crate::plugin) worker: Worker,
}

/// The processes of plugins that have their own.
pub(in crate::plugin) struct Worker {
    pub(in crate::plugin) program: Option<WorkerProgram>,
    pub(in crate::plugin) os_sandbox: bool,
}

impl Sandbox {
    /// Creates the engine, starts the threads and opens the cache. Without a usable cache,
    /// components are compiled at each start.
    ///
    /// # Errors
    /// If the engine cannot be created on this machine, or threads cannot be started.
    pub fn new(settings: SandboxSettings) -> anyhow::Result<Arc<Self>> {
        let engine = shared_engine(settings.engine)?;
        let mut linker = Linker::new(&engine);
        imports::link(&mut linker, settings.engine)
            .and_then(|()| dialects::link(&mut linker))
            .map_err(|error| anyhow::anyhow!("link: {error:#}"))?;
        let workers = settings.workers.max(1);
        let guests = Threads::start("wharf-guest", workers, BLOCKING_THREADS)?;
        let resources = Resources {
            keyvalue: Keyvalue::new(settings.keyvalue),
            outbound: Outbound::start(settings.outbound)?,
            protected: Arc::new(settings.protected),
            files: Arc::new(Semaphore::new(MAX_OPEN_IN_ALL)),
            runtime: guests.handle().clone(),
            personal: settings.personal,
            people: Arc::default(),
        };
        let runtime = RuntimeSettings {
            audit: settings.audit,
            memory: settings.memory_budget,
            workers,
            shared: settings.shared,
            schemas: settings.schemas,
            recorder: settings.recorder,
        };
        let worker = Worker { program: settings.worker, os_sandbox: settings.os_sandbox };
        let SandboxSettings { engine: kind, compiler, os_sandbox, cache_dir, .. } = settings;
        let compilation = Compilation::new(engine.clone(), kind, compiler, os_sandbox, cache_dir);
        Ok(Arc::new(Self {
            runtime: Runtime::start(engine, guests, resources, runtime)?,
            linker,
            compilation,
            in_use: InUse::default(),
            worker,
        }))
    }

    /// What runs at the moment.
    pub fn running(&self) -> Running {
        let Runtime { slots, task_slots, memory, ready, .. } = &*self.runtime;
        let taken = |slots: &FairSemaphore, of: u32| (of as usize).saturating_sub(slots.free()) as u64;
        Running {
            calls: taken(slots, SLOTS) + taken(task_slots, TaskLimits::MAX_CONCURRENCY),
            waiting: (slots.waiting() + task_slots.waiting()) as u64,
            ready: ready.count() as u64,
            memory: memory.taken(),
        }
    }

    /// How components got their code since the start.
    pub fn compiled(&self) -> Compiled {
        self.compilation.counts()
    }

    /// As [`Runtime::on_idle`].
    pub fn on_idle(&self) {
        self.runtime.on_idle();
    }
}

fn shared_engine(kind: EngineKind) -> anyhow::Result<Engine> {
    match engine::engine(kind, Allocation::Pooling { extra: MAX_EXTRA_INSTANCES }) {
        Ok(engine) => Ok(engine),
        Err(error) => {
            tracing::warn!("pooling allocator unavailable, calls will be slower: {error:#}");
            engine::engine(kind, Allocation::OnDemand).map_err(|error| anyhow::anyhow!("create the engine: {error:#}"))
        }
    }
}

//! Native code for a component: from the cache, or compiled in a child process.
//!
//! Runs only code that this program made or authenticated itself.

pub mod worker;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use wasmtime::Engine;

use super::cache::{Artifact, Cache, Code};
use super::engine;
use super::engine::{Allocation, EngineKind};
use super::link::linked;
use super::proposals;
use crate::os::process::{clear_environment, was_killed_by_filter};
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;
use crate::text::quote;

/// The hidden argument that makes this program compile its stdin to its stdout.
pub const WORKER: &str = "compile-worker";

/// Its option to run without the OS sandbox.
pub const WITHOUT_OS_SANDBOX: &str = "--without-os-sandbox";

/// Its option to compile for an engine of [`EngineKind::Asynchronous`].
pub const ASYNCHRONOUS: &str = "--asynchronous";

/// Timeout of one compilation.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Maximum bytes of native code.
const MAX_ARTIFACT: u64 = 256 << 20;

/// Components compiled concurrently. Each takes a core, at a low priority, and a hostile one a
/// gigabyte. The catalog leaves one of them to files that had no turn yet.
const COMPILERS: usize = 3;

/// Where components are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In a limited child process: this program, with the hidden argument
    /// [`super::component::compile::WORKER`]. A hostile component can take 20 s, and a gigabyte that
    /// a process never returns to the system.
    ChildProcess(PathBuf),
    /// In this process: for tests, and on systems without child processes.
    InProcess,
}

/// Compiles components and caches the results.
pub(in crate::plugin) struct Compilation {
    engine: Engine,
    kind: EngineKind,
    compiler: Compiler,
    /// Whether a compiler in a child process runs in the OS sandbox.
    os_sandbox: bool,
    running: Semaphore,
    cache: Option<Cache>,
    counts: Counts,
}

/// How components got their code since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// From the cache.
    pub cached: u64,
    pub compiled: u64,
    /// Not at all.
    pub failed: u64,
    /// Time that the compiler took for them.
    pub took: Duration,
}

#[derive(Default)]
struct Counts {
    cached: AtomicU64,
    compiled: AtomicU64,
    failed: AtomicU64,
    /// Nanoseconds.
    took: AtomicU64,
}

impl Compilation {
    /// `engine` is the one that runs the code, of that kind.
    pub(in crate::plugin) fn new(
        engine: Engine,
        kind: EngineKind,
        compiler: Compiler,
        os_sandbox: bool,
        cache: Option<PathBuf>,
    ) -> Arc<Self> {
        let cache = cache.map(|dir| Cache::open(dir, &engine));
        Arc::new(Self {
            engine,
            kind,
            compiler,
            os_sandbox,
            running: Semaphore::new(COMPILERS),
            cache,
            counts: Counts::default(),
        })
    }

    /// The component as native code.
    ///
    /// # Errors
    /// If the component is invalid, or exceeds the compiler's limits.
    pub(in crate::plugin) async fn code(
        self: &Arc<Self>,
        component: Arc<Vec<u8>>,
        digest: Digest,
    ) -> Result<Code, LoadError> {
        let compile = async {
            let artifact = self.artifact(component, self.kind).await?;
            let compilation = self.clone();
            blocking(move || {
                let loaded = artifact.load(&compilation.engine, digest);
                let code = loaded.map_err(|error| engine::exceeded(&error).unwrap_or_else(|| host(&error)))?;
                compilation.put(digest, compilation.kind, &artifact);
                Ok(code)
            })
            .await?
        };
        self.obtain(|| self.cached_code(digest), compile).await
    }

    /// The native code of a component for another process of this program, whose engine is of that kind.
    ///
    /// # Errors
    /// As [`Self::code`].
    pub(in crate::plugin) async fn bytes(
        self: &Arc<Self>,
        component: Arc<Vec<u8>>,
        digest: Digest,
        kind: EngineKind,
    ) -> Result<Vec<u8>, LoadError> {
        let compile = async {
            let artifact = self.artifact(component, kind).await?;
            let compilation = self.clone();
            blocking(move || {
                compilation.put(digest, kind, &artifact);
                artifact.into_bytes()
            })
            .await
        };
        self.obtain(|| self.cached_bytes(digest, kind), compile).await
    }

    /// What is cached, or else is compiled.
    async fn obtain<T, F: Future<Output = Result<Option<T>, LoadError>>>(
        &self,
        cached: impl Fn() -> F,
        compile: impl Future<Output = Result<T, LoadError>>,
    ) -> Result<T, LoadError> {
        if let Some(cached) = cached().await? {
            self.counts.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(cached);
        }
        // Few at a time: each may take a gigabyte and a core. Another task may have compiled the
        // same component during the wait.
        let _running = self.running.acquire().await;
        if let Some(cached) = cached().await? {
            self.counts.cached.fetch_add(1, Ordering::Relaxed);
            return Ok(cached);
        }
        let began = Instant::now();
        let compiled = compile.await;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.took.fetch_add(took, Ordering::Relaxed);
        let count = if compiled.is_ok() { &self.counts.compiled } else { &self.counts.failed };
        count.fetch_add(1, Ordering::Relaxed);
        compiled
    }

    async fn artifact(&self, component: Arc<Vec<u8>>, kind: EngineKind) -> Result<Artifact, LoadError> {
        match &self.compiler {
            Compiler::ChildProcess(program) => in_child(program, self.os_sandbox, &component, kind).await,
            Compiler::InProcess => blocking(move || in_process(&component, kind)).await?,
        }
    }

    fn put(&self, digest: Digest, kind: EngineKind, artifact: &Artifact) {
        if let Some(cache) = &self.cache {
            cache.put(digest, kind, artifact);
        }
    }

    /// What was compiled until now, and what was not.
    pub(in crate::plugin) fn counts(&self) -> Compiled {
        let Counts { cached, compiled, failed, took } = &self.counts;
        let [cached, compiled, failed, took] =
            [cached, compiled, failed, took].map(|count| count.load(Ordering::Relaxed));
        Compiled { cached, compiled, failed, took: Duration::from_nanos(took) }
    }

    pub(in crate::plugin) fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Where code and listings are stored.
    pub(in crate::plugin) fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    async fn cached_code(self: &Arc<Self>, digest: Digest) -> Result<Option<Code>, LoadError> {
        let compilation = self.clone();
        blocking(move || {
            let kept = compilation.cache.as_ref()?.get(digest, compilation.kind)?;
            let unloadable = |error: &wasmtime::Error| {
                tracing::warn!("failed to load a cache entry, compiling its component again: {error:#}");
            };
            kept.load(&compilation.engine).inspect_err(unloadable).ok()
        })
        .await
    }

    async fn cached_bytes(self: &Arc<Self>, digest: Digest, kind: EngineKind) -> Result<Option<Vec<u8>>, LoadError> {
        let compilation = self.clone();
        blocking(move || compilation.cache.as_ref()?.get(digest, kind)?.into_bytes().ok()).await
    }
}

fn in_process(component: &[u8], kind: EngineKind) -> Result<Artifact, LoadError> {
    let engine = engine::engine(kind, Allocation::OnDemand).map_err(|error| host(&error))?;
    precompile(&engine, component).map(Artifact::of_compiler).map_err(|error| {
        proposals::refused(&engine, component).unwrap_or_else(|| invalid(&why_invalid(component, &error)))
    })
}

/// What is wrong with a component that the engine does not accept for that reason.
fn why_invalid(component: &[u8], error: &wasmtime::Error) -> String {
    proposals::invalid(component).unwrap_or_else(|| format!("{error:#}"))
}

/// Compiles what [`linked`] makes of a component, if it makes something that the engine accepts; else the component.
fn precompile(engine: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let linked = linked(component, engine.get_wasm_features());
    match linked.map(|linked| engine.precompile_component(&linked)) {
        Some(Ok(code)) => Ok(code),
        Some(Err(_)) | None => engine.precompile_component(component),
    }
}

async fn in_child(program: &Path, os_sandbox: bool, component: &[u8], kind: EngineKind) -> Result<Artifact, LoadError> {
    let mut command = Command::new(program);
    let mut child = clear_environment(&mut command)
        .arg(WORKER)
        .args((!os_sandbox).then_some(WITHOUT_OS_SANDBOX))
        .args((kind == EngineKind::Asynchronous).then_some(ASYNCHRONOUS))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed("start the compiler", &error))?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(LoadError::Host("start the compiler: no pipes".into()));
    };
    let talk = async {
        let send = async {
            // An early exit of the child shows in its status.
            let _ = stdin.write_all(component).await;
            drop(stdin);
        };
        let (mut artifact, mut message) = (Vec::new(), Vec::new());
        let mut stdout = stdout.take(MAX_ARTIFACT + 1);
        let mut stderr = stderr.take(4 << 10);
        let (_, read, _) = tokio::join!(send, stdout.read_to_end(&mut artifact), stderr.read_to_end(&mut message));
        read.map_err(|error| failed("read from the compiler", &error))?;
        if artifact.len() as u64 > MAX_ARTIFACT {
            return Err(LoadError::CompileLimit);
        }
        // Closes the pipes first: a child that still writes must not wait for us.
        drop((stdout, stderr));
        let status = child.wait().await;
        let status = status.map_err(|error| failed("wait for the compiler", &error))?;
        match status.code() {
            Some(0) if !artifact.is_empty() => Ok(Artifact::of_compiler(artifact)),
            Some(worker::PROPOSALS) => {
                let message = String::from_utf8_lossy(&message);
                Err(proposals::named(&message).unwrap_or_else(|| invalid(&message)))
            }
            Some(worker::INVALID) => Err(invalid(&String::from_utf8_lossy(&message))),
            Some(code) => {
                // Logged only: it may contain names that a guest chose and paths of the host.
                let message = quote(&String::from_utf8_lossy(&message), 2048);
                tracing::error!(target: "wharf::plugin", code, "the compiler failed: {message}");
                Err(LoadError::Compile(format!("the compiler exited with code {code}")))
            }
            None if was_killed_by_filter(status) => {
                tracing::error!(target: "wharf::plugin", "the compiler was stopped at a system call that it may not make");
                Err(LoadError::Compile("the compiler was stopped at a system call".into()))
            }
            None => Err(LoadError::CompileLimit),
        }
    };
    match tokio::time::timeout(TIMEOUT, talk).await {
        Ok(done) => done,
        Err(_) => Err(LoadError::CompileTimeout(TIMEOUT)),
    }
}

pub(in crate::plugin) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| LoadError::Host(error.to_string()))
}

fn invalid(message: &str) -> LoadError {
    LoadError::Invalid(quote(message, 300))
}

fn host(error: &wasmtime::Error) -> LoadError {
    let text = quote(&format!("{error:#}"), 300);
    match error.downcast_ref::<io::Error>() {
        Some(error) => LoadError::of_system(error, LoadError::Host, text),
        None => LoadError::Host(text),
    }
}

fn failed(what: &str, error: &io::Error) -> LoadError {
    LoadError::of_system(error, LoadError::Host, format!("{what}: {error}"))
}

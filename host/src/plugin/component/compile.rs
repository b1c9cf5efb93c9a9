//! Native code for a component: from the cache, or compiled in a child process.
//!
//! Trusts no byte that this program did not make or authenticate itself.

pub mod worker;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::cache::{Artifact, Code};
use super::engine;
use super::engine::Allocation;
use crate::os::process::{clear_environment, was_forbidden};
use crate::plugin::error::LoadError;
use crate::plugin::id::Digest;
use crate::plugin::sandbox::{Compiler, Sandbox};
use crate::plugin::text::quote;

/// The hidden argument that makes this program compile its stdin to its stdout.
pub const WORKER: &str = "compile-worker";

/// Its option: without landlock and seccomp.
pub const WITHOUT_WALL: &str = "--without-second-wall";

/// Wall time of one compilation.
const WALL: Duration = Duration::from_secs(180);

/// Bytes of the largest native code.
const MAX_ARTIFACT: u64 = 256 << 20;

/// The component as native code.
pub(in crate::plugin) async fn compiled(
    sandbox: &Arc<Sandbox>,
    component: Arc<Vec<u8>>,
    digest: Digest,
) -> Result<Code, LoadError> {
    if let Some(cached) = cached(sandbox, digest).await? {
        return Ok(cached);
    }
    // One at a time: each may take a gigabyte and a core. Whoever waited may find that
    // the one before made just what it needs.
    let _turn = sandbox.compiling.acquire().await;
    if let Some(cached) = cached(sandbox, digest).await? {
        return Ok(cached);
    }
    let artifact = match &sandbox.compiler {
        Compiler::ChildProcess(program) => in_child(program, sandbox.second_wall, &component).await?,
        Compiler::InProcess => {
            let compile = move || {
                let engine = engine::engine(Allocation::OnDemand).map_err(|e| host(&e))?;
                engine.precompile_component(&component).map_err(|error| {
                    match engine::is_asynchronous(&engine, &component) {
                        true => LoadError::Asynchronous,
                        false => invalid(&format!("{error:#}")),
                    }
                })
            };
            Artifact::of_compiler(blocking(compile).await??)
        }
    };
    let sandbox = sandbox.clone();
    blocking(move || {
        if let Some(cache) = &sandbox.cache {
            cache.put(digest, &artifact);
        }
        artifact.load(sandbox.engine(), digest).map_err(|e| host(&e))
    })
    .await?
}

async fn cached(sandbox: &Arc<Sandbox>, digest: Digest) -> Result<Option<Code>, LoadError> {
    let sandbox = sandbox.clone();
    blocking(move || {
        let kept = sandbox.cache.as_ref()?.get(digest)?;
        match kept.load(sandbox.engine()) {
            Ok(code) => Some(code),
            Err(error) => {
                tracing::warn!("compile a component again, its cache entry does not load: {error:#}");
                None
            }
        }
    })
    .await
}

async fn in_child(program: &Path, second_wall: bool, component: &[u8]) -> Result<Artifact, LoadError> {
    let mut command = Command::new(program);
    let mut child = clear_environment(&mut command)
        .arg(WORKER)
        .args((!second_wall).then_some(WITHOUT_WALL))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| LoadError::Host(format!("start the compiler: {error}")))?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(LoadError::Host("start the compiler: no pipes".into()));
    };
    let talk = async {
        let send = async {
            // An early end of the child shows in its status.
            let _ = stdin.write_all(component).await;
            drop(stdin);
        };
        let (mut artifact, mut message) = (Vec::new(), Vec::new());
        let mut stdout = stdout.take(MAX_ARTIFACT + 1);
        let mut stderr = stderr.take(4 << 10);
        let (_, read, _) = tokio::join!(send, stdout.read_to_end(&mut artifact), stderr.read_to_end(&mut message));
        read.map_err(|error| LoadError::Host(format!("read from the compiler: {error}")))?;
        if artifact.len() as u64 > MAX_ARTIFACT {
            return Err(LoadError::CompileLimit);
        }
        // Closes the pipes first: a child that still writes must not wait for us.
        drop((stdout, stderr));
        let status = child.wait().await;
        let status = status.map_err(|error| LoadError::Host(format!("wait for the compiler: {error}")))?;
        match status.code() {
            Some(0) if !artifact.is_empty() => Ok(Artifact::of_compiler(artifact)),
            Some(worker::ASYNCHRONOUS) => Err(LoadError::Asynchronous),
            Some(worker::INVALID) => Err(invalid(&String::from_utf8_lossy(&message))),
            Some(code) => {
                // Its words may hold names of the guest's and paths of the host.
                let message = quote(&String::from_utf8_lossy(&message), 2048);
                tracing::error!(target: "wharf::plugin", code, "the compiler failed: {message}");
                Err(LoadError::Compile(format!("the compiler ended with code {code}")))
            }
            None if was_forbidden(status) => {
                tracing::error!(target: "wharf::plugin", "the compiler was stopped at a system call that it may not make");
                Err(LoadError::Compile("the compiler was stopped at a system call".into()))
            }
            None => Err(LoadError::CompileLimit),
        }
    };
    match tokio::time::timeout(WALL, talk).await {
        Ok(done) => done,
        Err(_) => Err(LoadError::CompileTimeout(WALL)),
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
    LoadError::Host(quote(&format!("{error:#}"), 300))
}

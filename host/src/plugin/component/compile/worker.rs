//! The compiler process: a component on stdin, native code on stdout.
//!
//! Limits itself before it reads a byte, and needs nothing but its pipes.

use std::io::{self, Read as _, Write as _};

use super::{precompile, why_invalid};
use crate::os::limits;
use crate::os::sandbox::{self, Enforcement};
use crate::plugin::component::engine;
use crate::plugin::component::engine::{Allocation, EngineKind};
use crate::plugin::component::proposals;
use crate::plugin::error::LoadError;

/// Exit code: the bytes are not a valid component; the reason is on stderr.
pub(super) const INVALID: i32 = 2;
/// Exit code: something else failed.
const FAILED: i32 = 3;
/// Exit code: it uses proposals that are not accepted; stderr names them.
pub(super) const PROPOSALS: i32 = 4;

/// Bytes of address space. The engine here allocates on demand, so it needs little.
const ADDRESS_SPACE: u64 = 2 << 30;
const CPU_SECONDS: u64 = 60;
const FILES: u64 = 16;

/// Compiles once and returns the exit code. `main` calls it before it does anything else, so that
/// there is one thread to confine.
pub fn run(os_sandbox: bool, kind: EngineKind) -> i32 {
    match compile(os_sandbox, kind) {
        Ok(()) => 0,
        Err((code, message)) => {
            let _ = std::io::stderr().write_all(message.as_bytes());
            code
        }
    }
}

fn compile(os_sandbox: bool, kind: EngineKind) -> Result<(), (i32, String)> {
    let failed = |what: &str, error: &dyn std::fmt::Display| (FAILED, format!("{what}: {error}"));
    limit().map_err(|error| failed("limit the compiler", &error))?;
    if os_sandbox {
        // What the system does not support here it does not in the host either, which logs it.
        let _ = confine();
    }
    let mut component = Vec::new();
    std::io::stdin()
        .lock()
        .take(crate::plugin::component::file::MAX_SIZE)
        .read_to_end(&mut component)
        .map_err(|error| failed("read the component", &error))?;
    let engine = engine::engine(kind, Allocation::OnDemand)
        .map_err(|error| failed("create the engine", &format!("{error:#}")))?;
    let artifact = precompile(&engine, &component).map_err(|error| match proposals::refused(&engine, &component) {
        Some(LoadError::Proposals { names, .. }) => (PROPOSALS, names),
        _ => (INVALID, why_invalid(&component, &error)),
    })?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&artifact).and_then(|()| stdout.flush()).map_err(|error| failed("write the code", &error))
}

/// Limits what this process takes.
///
/// # Errors
/// If the system refuses a limit.
pub fn limit() -> io::Result<()> {
    limits::restrict(CPU_SECONDS, FILES, ADDRESS_SPACE)
}

/// Enters the OS sandbox, as far as the kernel supports it. Returns what is enforced: for files and
/// sockets, and for system calls.
pub fn confine() -> (Enforcement, Enforcement) {
    let files = sandbox::deny_files().unwrap_or(Enforcement::None);
    let calls = sandbox::filter_syscalls().map_or(Enforcement::None, |()| Enforcement::Full);
    (files, calls)
}

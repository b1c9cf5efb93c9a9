//! The compiler process: a component on stdin, native code on stdout.
//!
//! Limits itself before it reads a byte, and needs nothing but its two pipes.

use std::io::{Read as _, Write as _};

use rustix::process::{Resource, Rlimit};

use crate::plugin::engine::{self, Allocation};

/// Exit code: the bytes are no valid component; stderr says why.
pub(super) const INVALID: i32 = 2;
/// Exit code: something else failed.
const FAILED: i32 = 3;

/// Bytes of address space. The engine here allocates on demand, so it needs little.
const ADDRESS_SPACE: u64 = 2 << 30;
const CPU_SECONDS: u64 = 60;
const FILES: u64 = 16;

/// Compiles once and returns the exit code. `main` calls it before it does anything else.
pub fn run() -> i32 {
    match compile() {
        Ok(()) => 0,
        Err((code, message)) => {
            let _ = std::io::stderr().write_all(message.as_bytes());
            code
        }
    }
}

fn compile() -> Result<(), (i32, String)> {
    let failed = |what: &str, error: &dyn std::fmt::Display| (FAILED, format!("{what}: {error}"));
    confine().map_err(|error| failed("confine the compiler", &error))?;
    let mut component = Vec::new();
    std::io::stdin()
        .lock()
        .take(crate::plugin::file::MAX_SIZE)
        .read_to_end(&mut component)
        .map_err(|error| failed("read the component", &error))?;
    let engine =
        engine::engine(Allocation::OnDemand).map_err(|error| failed("make the compiler", &format!("{error:#}")))?;
    let artifact = engine.precompile_component(&component).map_err(|error| (INVALID, format!("{error:#}")))?;
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&artifact).and_then(|()| stdout.flush()).map_err(|error| failed("write the code", &error))
}

fn confine() -> rustix::io::Result<()> {
    let limit = |resource, to: u64| {
        let both = Rlimit { current: Some(to), maximum: Some(to) };
        rustix::process::setrlimit(resource, both)
    };
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, CPU_SECONDS)?;
    limit(Resource::Nofile, FILES)?;
    #[cfg(target_os = "linux")]
    {
        limit(Resource::As, ADDRESS_SPACE)?;
        rustix::thread::set_no_new_privs(true)?;
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    // Politeness only: without it the compiler works all the same.
    let _ = rustix::process::nice(10);
    Ok(())
}

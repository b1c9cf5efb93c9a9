//! The sandboxed process: what it attempts and reports.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wharf::os::sandbox::{self, AllowedPaths};
use wharf::plugin::compile::{WORKER, worker};

use crate::say;

/// The argument that makes this program attempt something.
pub(super) const ATTEMPT: &str = "attempt";

/// The first argument names the restrictions, the second the attempt, the others are paths.
pub(super) fn run(arguments: &[String]) {
    let [restrictions, what, paths @ ..] = arguments else { panic!("attempt RESTRICTIONS WHAT PATH…") };
    match restrictions.as_str() {
        "none" => say("none"),
        "compiler" => {
            worker::limit().expect("limits");
            let (files, calls) = worker::confine();
            say(&format!("files: {files:?}, calls: {calls:?}"));
        }
        "files" => say(&format!("files: {:?}", sandbox::deny_files().expect("landlock"))),
        // The process of a plugin.
        "worker" | "worker-with-network" => {
            let files = sandbox::restrict_to(&sandbox::system_paths()).expect("landlock");
            let calls = sandbox::deny_syscalls(restrictions == "worker-with-network");
            let calls = calls.map_or(sandbox::Enforcement::None, |()| sandbox::Enforcement::Full);
            say(&format!("files: {files:?}, calls: {calls:?}"));
        }
        "host" => {
            let [read, write, ..] = paths else { panic!("attempt host WHAT READ WRITE …") };
            let allowed = AllowedPaths {
                read: vec![read.into(), "/not/there".into()],
                write: vec![write.into()],
                execute: vec!["/bin/true".into(), "/usr".into(), "/lib".into(), "/lib64".into()],
                sockets: Vec::new(),
            };
            say(&format!("files: {:?}", sandbox::restrict_files(&allowed).expect("landlock")));
        }
        other => panic!("no such restrictions: {other}"),
    }
    say(&attempt(what, paths).map_or_else(|error| format!("refused: {error}"), |()| "done".to_owned()));
}

fn attempt(what: &str, paths: &[String]) -> std::io::Result<()> {
    let path = || PathBuf::from(paths.last().expect("a path"));
    match what {
        "read" => fs::read(path()).map(drop),
        "list" => fs::read_dir(path()).map(drop),
        "write" => fs::write(path(), "x"),
        "remove" => fs::remove_file(path()),
        "connect" => TcpStream::connect(("127.0.0.1", 9)).map(drop),
        "listen" => TcpListener::bind(("127.0.0.1", 0)).map(drop),
        "socket" => UnixListener::bind(path()).map(drop),
        "unix" => UnixStream::connect(path()).map(drop),
        "chmod" => fs::set_permissions(path(), fs::Permissions::from_mode(0o644)),
        "signal" => Ok(rustix::process::test_kill_process(rustix::process::getppid().expect("a parent"))?),
        "priority" => Ok(rustix::process::setpriority_process(rustix::process::getppid(), 19)?),
        "process" => Command::new(path()).spawn().map(drop),
        "execute" => Err(Command::new(path()).exec()),
        "start" => Command::new(path()).status().map(drop),
        "thread" => {
            let thread = std::thread::Builder::new().spawn(|| ())?;
            thread.join().map_err(|_| std::io::Error::other("it panicked"))
        }
        "memory" => Vec::<u8>::new().try_reserve_exact(3 << 30).map_err(std::io::Error::other),
        // Native code that is generated here must not run here.
        "code" => {
            let engine = wasmtime::Engine::default();
            let bytes = wat::parse_str("(component (core module (func)))").map_err(std::io::Error::other)?;
            let component = wasmtime::component::Component::new(&engine, bytes);
            component.map(drop).map_err(|error| std::io::Error::other(format!("{error:#}")))
        }
        // Starts a compiler that shares this process's stdin, and exits without waiting for it.
        "orphan" => {
            let child = Command::new(path()).arg(WORKER).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
            say(&child.id().to_string());
            let started = Instant::now();
            let confined = || crate::compiler::status(child.id(), "Seccomp").is_some_and(|mode| mode == "2");
            while !confined() && started.elapsed() < Duration::from_secs(10) {
                std::thread::yield_now();
            }
            Ok(())
        }
        other => panic!("no such attempt: {other}"),
    }
}

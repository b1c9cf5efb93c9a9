//! The number of instructions of a call, counted by callgrind, so that it does not depend on the load
//! of the machine. Run by `tests/run.sh`; it needs valgrind and the guest `echo`.
//!
//! `cargo test --test instructions` compares with the number in `bench/instructions.txt`; `-- --keep`
//! updates that file.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use wharf::catalog::{Catalog, Member, Naming};
use wharf::identity::Identity;
use wharf::plugin::{Grants, Limits, PluginId, Sandbox, SandboxSettings};
use wharf::server::{Connection, Outgoing, Server, Settings};

/// Calls of the two runs; the difference excludes the startup.
const FEW: u64 = 20;
const MANY: u64 = 120;
/// Allowed relative difference. Compilers and allocators differ by some percent; additional work per
/// call is more.
const BOUND: f64 = 0.25;

/// The option with which this program makes the counted calls.
const CALLS: &str = "--calls";

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"count","version":"0"}}}"#;
const REQUEST: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"}}}"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &arguments[..] {
        [mode, count] if mode == CALLS => count.parse().map(calls).map_err(|error| format!("read {count}: {error}")),
        rest => compare(rest.iter().any(|argument| argument == "--keep")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to {error}");
            ExitCode::FAILURE
        }
    }
}

fn repository() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/..").into()
}

/// Makes `count` calls, from the text of the request to that of the answer.
fn calls(count: u64) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    // The first run compiles the guest.
    let cache_dir = Some(repository().join("target/tmp/instructions"));
    let settings = SandboxSettings { workers: 1, cache_dir, ..SandboxSettings::default() };
    let sandbox = Sandbox::new(settings).expect("a sandbox");
    let component = fs::read(repository().join("target/guests/components/echo.wasm")).expect("the guest echo");
    let id = PluginId::parse("echo").expect("an id");
    let loading = sandbox.load(id, component, Limits::default(), Grants::default());
    let plugin = Arc::new(runtime.block_on(loading).expect("a plugin"));
    let catalog = Arc::new(Catalog::default());
    catalog.set_files_known();
    catalog.set_ready();
    catalog.put(Member { provider: plugin, naming: Naming::Prefixed, pinned_surface: None });
    let (outbox, mut messages) = mpsc::channel::<Outgoing>(1);
    let connection = Server::new(catalog, Settings::default()).connect(outbox, &Arc::new(Identity::local()));
    answer(&runtime, &connection, &mut messages, HELLO);
    for _ in 0..count {
        let answer = answer(&runtime, &connection, &mut messages, REQUEST);
        assert!(answer.contains("hello"), "{answer}");
        sandbox.on_idle();
    }
}

fn answer(
    runtime: &Runtime,
    connection: &Arc<Connection>,
    messages: &mut mpsc::Receiver<Outgoing>,
    request: &str,
) -> String {
    runtime.block_on(async {
        match connection.begin(request.as_bytes(), false).await {
            Some(answered) => answered.message.text,
            None => messages.recv().await.expect("an answer").text,
        }
    })
}

fn compare(keep: bool) -> Result<(), String> {
    // Compiles the guest, also under valgrind: without it the engine has other settings, so its code
    // would not be reused.
    counted(FEW)?;
    let count = (counted(MANY)? - counted(FEW)?) as f64 / (MANY - FEW) as f64;
    let file = repository().join("bench/instructions.txt");
    if keep {
        return fs::write(&file, format!("{count:.0}\n")).map_err(|error| format!("write {}: {error}", file.display()));
    }
    let kept = fs::read_to_string(&file).map_err(|error| format!("read {}: {error}", file.display()))?;
    let kept: f64 = kept.trim().parse().map_err(|error| format!("read the number in {}: {error}", file.display()))?;
    println!("a call takes {count:.0} instructions; expected {kept:.0}");
    let right = (count / kept - 1.0).abs() <= BOUND;
    println!("tests: {} passed, {} failed", u8::from(right), u8::from(!right));
    if right {
        return Ok(());
    }
    Err(format!(
        "take about {kept:.0} instructions for a call: it is {count:.0}\nhint: find out why, then keep the new number with `cargo test --test instructions -- --keep`"
    ))
}

/// Instructions of a run.
fn counted(calls: u64) -> Result<u64, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program()?);
    let stderr = run(valgrind, calls).map_err(|error| format!("{error}\nhint: `apt-get install valgrind`"))?;
    let total = stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    total.ok_or_else(|| format!("find the count in the output of callgrind:\n{stderr}"))
}

fn program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("find this program: {error}"))
}

/// Runs it, and returns its stderr.
fn run(mut command: Command, calls: u64) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let run = command.args([CALLS, &calls.to_string()]).output().map_err(|error| format!("start {name}: {error}"))?;
    let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
    if run.status.success() { Ok(stderr) } else { Err(format!("run {name}:\n{stderr}")) }
}

//! Components of random worlds: each is served or refused with a reason, and none does more than that.
//!
//! What a world may have is all that WIT has: resources, streams, futures, async functions, nested types, several
//! packages. Its functions return zeros, which is a value of any type but streams and futures. A tool is called with arguments that its own
//! schema allows, so it must return a result that its own schema allows.
//!
//! `cargo test -p wharf-mcp --test components -- [--count N] [--seed N]`: component `n` has the seed `N + n`, so that a
//! failure can be reproduced alone.

#[path = "../support/random.rs"]
mod random;
mod value;
mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use wharf::plugin::{
    Call, CallError, EngineKind, Fault, Grants, Limits, LoadError, PluginId, Provider as _, Sandbox, SandboxSettings,
    could_be_plugin, inspect, summarize,
};

use random::Random;

const COUNT: u64 = 3000;
/// Time limit of loading one component, in a debug build on a busy machine.
const SLOWEST: Duration = Duration::from_secs(30);

/// What became of one component.
enum Ended {
    /// With the number of tools, each of which was called.
    Served(usize),
    /// The first words of the reason.
    Refused(String),
    /// None of many worlds is a component.
    NoComponent,
}

fn main() -> ExitCode {
    let (mut count, mut seed) = (COUNT, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let target = match argument.as_str() {
            "--count" => &mut count,
            "--seed" => &mut seed,
            // Options for cargo's own harness are ignored.
            _ => continue,
        };
        match arguments.next().and_then(|number| number.parse().ok()) {
            Some(number) => *target = number,
            None => {
                say(&format!("{argument} wants a number; usage: [--count N] [--seed N]"));
                return ExitCode::from(2);
            }
        }
    }
    if run(count, seed) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(count: u64, seed: u64) -> bool {
    let started = Instant::now();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sandbox = Sandbox::new(SandboxSettings { engine: EngineKind::Asynchronous, ..SandboxSettings::default() })
        .expect("a sandbox");
    let next = Arc::new(AtomicU64::new(0));
    let mut all = JoinSet::new();
    for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
        let (sandbox, next) = (sandbox.clone(), next.clone());
        let of_one = async move {
            let mut ended = Vec::new();
            loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= count {
                    return ended;
                }
                // A task of its own, so that a panic is of this component alone.
                let one = tokio::spawn(one(sandbox.clone(), seed.wrapping_add(n)));
                ended.push((seed.wrapping_add(n), one.await.unwrap_or_else(|error| Err(error.to_string()))));
            }
        };
        all.spawn_on(of_one, runtime.handle());
    }
    let ended = runtime.block_on(all.join_all()).into_iter().flatten();
    let (mut served, mut tools, mut without, mut failed) = (0, 0, 0, 0);
    let mut reasons = BTreeMap::<String, usize>::new();
    for (seed, ended) in ended {
        match ended {
            Ok(Ended::Served(called)) => (served, tools) = (served + 1, tools + called),
            Ok(Ended::Refused(reason)) => *reasons.entry(reason).or_default() += 1,
            Ok(Ended::NoComponent) => without += 1,
            Err(why) => {
                failed += 1;
                say(&format!("FAILED: {why}"));
                say(&format!("  again: cargo test -p wharf-mcp --test components -- --count 1 --seed {seed}"));
            }
        }
    }
    let refused: usize = reasons.values().sum();
    say(&format!("{count} worlds in {} s: {without} are no component", started.elapsed().as_secs()));
    say(&format!("{served} served, with {tools} tools, each called; {refused} refused:"));
    reasons.iter().for_each(|(reason, times)| say(&format!("  {times:>5}  {reason}")));
    let passed = served + refused;
    // A generator of which all is refused, or all is served, tests little.
    let is_varied = count < COUNT || (served > 0 && reasons.len() > 2);
    if !is_varied {
        say("FAILED: some of so many components ought to be served, and others refused for several reasons");
    }
    let failed = failed + usize::from(!is_varied);
    say(&format!("\ntest result: {}. {passed} passed; {failed} failed", if failed == 0 { "ok" } else { "FAILED" }));
    failed == 0
}

/// Makes a component, loads it, and calls its tools.
async fn one(sandbox: Arc<Sandbox>, seed: u64) -> Result<Ended, String> {
    let mut random = Random::new(seed);
    let Some((component, is_asynchronous)) = world::component(&mut random) else { return Ok(Ended::NoComponent) };
    let said = |what: &str, text: &str| match text.chars().any(char::is_control) || text.is_empty() {
        true => keep(seed, &component, &format!("{what}: {text:?}")),
        false => Ok(()),
    };
    said("what it is", &summarize(&component).kind.to_string())?;
    let found = inspect(&component).map_err(|error| error.to_string());
    for name in found.iter().flat_map(|found| &found.exports) {
        said("an export", name)?;
    }
    let could_be = could_be_plugin(&component, &Limits::default());
    let id = PluginId::parse("random").expect("an id");
    let started = Instant::now();
    let loaded = sandbox.load(id, component.clone(), Limits::default(), Grants::default()).await;
    if started.elapsed() > SLOWEST {
        keep(seed, &component, &format!("it took {:?} to load", started.elapsed()))?;
    }
    let plugin = match loaded {
        Ok(plugin) => plugin,
        Err(error) => {
            let reason = error.to_string();
            said("the reason", &reason)?;
            if matches!(error, LoadError::Host(_)) {
                keep(seed, &component, &format!("an error of the host: {reason}"))?;
            }
            let first = reason.split([':', ';']).next().unwrap_or_default();
            return Ok(Ended::Refused(first.to_owned()));
        }
    };
    if let Err(error) = could_be {
        keep(seed, &component, &format!("it is served, though no settings make it a plugin: {error}"))?;
    }
    for warning in plugin.warnings() {
        said("a warning", &warning.to_string())?;
    }
    let tools = plugin.surface().tools.as_deref().unwrap_or_default();
    for tool in tools {
        let schema = serde_json::from_str(&tool.tool.input_schema).map_err(|error| error.to_string())?;
        let arguments = value::of(&schema, &mut random).to_string();
        let name = &tool.tool.name;
        let called = plugin.call_tool(name, arguments.clone().into(), Call::new("1")).await;
        // Zeros are no stream, and an async function that ends has to say what it returns.
        let may_crash = |error: &CallError| {
            is_asynchronous && matches!(error, CallError::Fault(Fault::Trap(_) | Fault::BadOutput(_)))
        };
        if let Err(error) = called.map(drop).or_else(|error| if may_crash(&error) { Ok(()) } else { Err(error) }) {
            keep(seed, &component, &format!("{name} with {arguments}: {error:?}"))?;
        }
    }
    Ok(Ended::Served(tools.len()))
}

/// A failure, of which the component is kept.
fn keep(seed: u64, component: &[u8], why: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components");
    let file = folder.join(format!("{seed}.wasm"));
    let kept = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, component));
    let place = kept.map_or_else(|error| format!("lost: {error}"), |()| file.display().to_string());
    Err(format!("{why}\n  component: {place}"))
}

#[allow(clippy::print_stdout, reason = "a command that people and the test runner read")]
fn say(line: &str) {
    println!("{line}");
}

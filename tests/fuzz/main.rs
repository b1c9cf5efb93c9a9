//! Fuzzes the parsers of untrusted input with mutated bytes, and checks their properties.
//!
//! Runs on the stable compiler and from a seed, so that a failure can be reproduced:
//! `cargo test -p wharf-mcp --test fuzz -- [--seconds N] [--jobs N] [--seed N] [TARGET]`, or
//! `TARGET FILE`. Each target runs for N seconds; the default number of parallel jobs is the number
//! of cores. Coverage is not measured.

mod mutate;
#[path = "../support/random.rs"]
mod random;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mutate::Mutator;
use targets::{TARGETS, Target};

/// Default time per target.
const SECONDS: u64 = 5;
/// Time limit for one input.
const SLOWEST: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            say(&format!("{wrong}; usage: [--seconds N] [--jobs N] [--seed N] [TARGET] or TARGET FILE"));
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: impl Iterator<Item = String>) -> Result<bool, String> {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let (mut seconds, mut jobs, mut seed, mut names) = (SECONDS, cores, 1, Vec::new());
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|n| n.parse().ok()).ok_or(format!("{argument} wants a number"));
        match argument.as_str() {
            "--seconds" => seconds = number()?,
            "--jobs" => jobs = number()?,
            "--seed" => seed = number()?,
            // Options for cargo's own harness are ignored.
            other if other.starts_with('-') => {}
            _ => names.push(argument),
        }
    }
    let mut targets: Vec<Target> = TARGETS.iter().map(|make| make()).collect();
    if let Some(name) = names.first() {
        targets.retain(|target| target.name == name);
    }
    if let ([target], Some(file)) = (targets.as_slice(), names.get(1)) {
        let input = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
        return Ok(holds(target, &input).is_ok());
    }
    let failed = fuzz_all(&targets, jobs, Duration::from_secs(seconds), seed);
    let (word, passed) = (if failed == 0 { "ok" } else { "FAILED" }, targets.len() - failed);
    say(&format!("\ntest result: {word}. {passed} passed; {failed} failed"));
    Ok(failed == 0)
}

/// Runs all targets, `jobs` at once, and returns the number of failures.
fn fuzz_all(targets: &[Target], jobs: u64, time: Duration, seed: u64) -> usize {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    failed.fetch_add(usize::from(!fuzz(target, time, seed)), Ordering::Relaxed);
                }
            });
        }
    });
    failed.into_inner()
}

/// Runs a target until its time is over or it fails; true if it passed.
fn fuzz(target: &Target, time: Duration, seed: u64) -> bool {
    let mut corpus = target.seeds.clone();
    corpus.extend(files(&corpus_folder(target)));
    let mut mutator = Mutator::new(seed, &target.words);
    let (started, mut runs) = (Instant::now(), 0u64);
    let fresh = std::iter::repeat_with(|| mutator.next(&corpus));
    for input in corpus.iter().cloned().chain(fresh) {
        runs += 1;
        if let Err(why) = holds(target, &input) {
            let file = keep(target, &input);
            say(&format!("{}: FAILED at run {runs} of seed {seed}: {why}", target.name));
            say(&format!("  {}", String::from_utf8_lossy(&input[..input.len().min(400)]).escape_debug()));
            say(&format!("  again: cargo test -p wharf-mcp --test fuzz -- {} {}", target.name, file.display()));
            return false;
        }
        if started.elapsed() > time {
            break;
        }
    }
    say(&format!("{}: {runs} runs of seed {seed}", target.name));
    true
}

/// Fails on a panic, and if the input takes too long.
fn holds(target: &Target, input: &[u8]) -> Result<(), String> {
    let started = Instant::now();
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|_| "it panicked".to_owned())?;
    let took = started.elapsed();
    if took > SLOWEST { Err(format!("it took {took:?}")) } else { Ok(()) }
}

/// Inputs of past failures.
fn corpus_folder(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus").join(target.name)
}

/// Sorted by name, so that the order is the same on all machines.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Saves a failing input, from where it can be copied into the corpus.
fn keep(target: &Target, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fuzz");
    let file = folder.join(format!("{}-failed", target.name));
    let kept = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, input));
    if let Err(error) = kept {
        say(&format!("  the input is lost: {error}"));
    }
    file
}

#[allow(clippy::print_stdout, reason = "a command that people and the test runner read")]
fn say(line: &str) {
    println!("{line}");
}

//! Plugins in every language: new projects with their tests, builds and calls in both eras; the
//! samples with their transcripts; and the wrappers' own tests.
//!
//! `cargo test -p wharf-mcp --test languages -- [python go …]`, after `tests/languages.sh` has installed
//! the toolchains.

mod asynchronous;
mod cookbook;
mod language;
mod libraries;
mod project;
mod refusals;
mod typed;

#[path = "../support/support.rs"]
#[allow(unreachable_pub, dead_code, reason = "what the integration tests share is more than this needs")]
mod support;

use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use language::{LANGUAGES, Language};
use support::home::repository;

fn main() -> ExitCode {
    // Options are for cargo's own harness, and ignored.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let Some(unknown) = wanted.iter().find(|name| LANGUAGES.iter().all(|language| language.name != **name)) {
        say(&format!("unknown language {unknown}"));
        return ExitCode::from(2);
    }
    let chosen = LANGUAGES.iter().filter(|language| wanted.is_empty() || wanted.iter().any(|w| w == language.name));
    let (mut passed, mut failed) = (0, 0);
    for language in chosen {
        for row in rows(language) {
            let started = Instant::now();
            let thread = std::thread::Builder::new().name(format!("languages-{}", row.name.replace(' ', "-")));
            let run = thread.spawn(move || catch_unwind(row.run)).expect("a thread");
            let good = run.join().is_ok_and(|outcome| outcome.is_ok());
            (passed, failed) = if good { (passed + 1, failed) } else { (passed, failed + 1) };
            let word = if good { "ok" } else { "FAILED" };
            say(&format!("test {} ... {word} ({:.1} s)", row.name, started.elapsed().as_secs_f32()));
        }
    }
    say(&format!("tests: {passed} passed, {failed} failed"));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[allow(clippy::print_stdout, reason = "a command that people and the test runner read")]
fn say(line: &str) {
    println!("{line}");
}

struct Row {
    name: String,
    run: Box<dyn FnOnce() + Send + std::panic::UnwindSafe>,
}

fn rows(language: &'static Language) -> Vec<Row> {
    let row = |what: &str, run: Box<dyn FnOnce() + Send + std::panic::UnwindSafe>| Row {
        name: format!("{} {what}", language.name),
        run,
    };
    let mut rows = Vec::new();
    if let Some((folder, command)) = language.wrapper {
        rows.push(row("wrapper", Box::new(move || project::wrapper(language, folder, command))));
    }
    rows.push(row("template", Box::new(|| project::template(language))));
    match language.name {
        "rust" => rows.push(row("cookbook", Box::new(cookbook::rust))),
        "python" => {
            rows.push(row("cookbook", Box::new(cookbook::python)));
            rows.push(row("types", Box::new(typed::python)));
            rows.push(row("refusals", Box::new(refusals::python)));
            rows.push(row("async", Box::new(asynchronous::python)));
        }
        "typescript" => {
            rows.push(row("types", Box::new(typed::typescript)));
            rows.push(row("refusals", Box::new(refusals::typescript)));
        }
        "javascript" => rows.push(row("async", Box::new(asynchronous::javascript))),
        _ => {}
    }
    for (name, dir) in samples(language) {
        rows.push(row(&name, Box::new(move || project::sample(language, &dir))));
    }
    if let Some(dir) = everything(language) {
        let run = move || {
            let component = project::everything(&dir);
            match language.name {
                "python" => libraries::python(&component),
                "typescript" => libraries::typescript(&component),
                _ => {}
            }
        };
        rows.push(row("everything", Box::new(run)));
    }
    rows
}

/// `plugins/<name>-<language>`. Rust samples are built by `plugins/build.sh` and tested by the
/// integration tests.
fn samples(language: &Language) -> Vec<(String, PathBuf)> {
    let end = format!("-{}", language.name);
    let entries = fs::read_dir(repository().join("plugins")).expect("the plugins");
    let names = entries.map(|entry| entry.expect("a folder entry").file_name().to_string_lossy().into_owned());
    let mut samples: Vec<(String, PathBuf)> = names
        .filter(|name| name.ends_with(&end))
        .map(|name| (name.clone(), repository().join("plugins").join(name)))
        .filter(|(_, dir)| dir.join("plugin.toml").is_file())
        .collect();
    samples.sort();
    samples
}

/// The plugin among the wrapper's tests that uses all of its features.
fn everything(language: &Language) -> Option<PathBuf> {
    let folder = repository().join("plugin-sdk").join(language.wrapper?.0.split('/').next()?);
    ["tests", "test"].map(|tests| folder.join(tests).join("everything")).into_iter().find(|dir| dir.is_dir())
}

//! The load generator: starts MCP servers, measures them over stdio and HTTP, and prints a table.
//! It uses blocking pipes and sockets, so that the figures contain no async runtime of its own.

#![allow(unreachable_pub, reason = "a binary exports nothing")]

mod batch;
mod bombs;
mod calls;
mod client;
mod component;
mod contender;
mod grants;
mod home;
mod hostile;
mod http;
mod http_client;
mod isolation;
mod large;
mod listen;
mod machine;
mod memory;
mod options;
mod outbound;
mod plot;
mod process;
mod reload;
mod report;
mod scale;
mod several;
mod sleepers;
mod start;
mod tokens;
mod turns;

/// The tests' builder of small plugins from WAT, and their web sites.
#[path = "../../../../tests/support"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod support {
    pub mod guest;
    pub mod site;
    pub mod home {
        use std::path::PathBuf;

        /// The repository's root, where the plugin interface is.
        pub fn repository() -> PathBuf {
            concat!(env!("CARGO_MANIFEST_DIR"), "/..").into()
        }
    }
}

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use serde_json::json;

use contender::{Contender, Kind};
use home::Scratch;
use options::{Options, Suite, USAGE};
use report::Report;

/// The input of every suite.
struct Bench {
    options: Options,
    scratch: Scratch,
    /// The guest `echo`, with the tools `echo` and `add`.
    echo: Vec<u8>,
    /// `echo` with a third tool, `version`, which returns `1`.
    v1: Vec<u8>,
    /// The same, returning `2`.
    v2: Vec<u8>,
}

impl Bench {
    fn new(options: Options) -> Result<Self> {
        let read = |name| component(&options, name);
        let (echo, v1, v2) = (read("echo")?, read("echo-v1")?, read("echo-v2")?);
        Ok(Self { scratch: Scratch::new()?, echo, v1, v2, options })
    }

    /// The guest of that name.
    fn component(&self, name: &str) -> Result<Vec<u8>> {
        component(&self.options, name)
    }

    /// All servers of the command line.
    fn all_contenders(&self) -> &[Contender] {
        &self.options.contenders
    }

    /// Wharf and the native server. The others have only two tools and stdio.
    fn contenders(&self) -> impl Iterator<Item = &Contender> {
        self.all_contenders().iter().filter(|contender| !matches!(contender.kind, Kind::Other { .. }))
    }

    /// Wharf, for suites that measure nothing else.
    fn wharf(&self) -> impl Iterator<Item = &Contender> {
        self.contenders().filter(|contender| contender.kind == Kind::Wharf)
    }

    /// Reports progress on stderr.
    fn progress(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{text}");
    }
}

fn component(options: &Options, name: &str) -> Result<Vec<u8>> {
    let file = options.components.join(format!("{name}.wasm"));
    std::fs::read(&file).with_context(|| format!("read the component {}", file.display()))
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "failed to {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let Some(options) = Options::parse(std::env::args().skip(1))? else {
        return io::stdout().write_all(USAGE.as_bytes()).context("print the usage");
    };
    let machine = machine::description();
    let bench = Bench::new(options)?;
    isolation::check(&bench)?;
    let mut report = Report::new(bench.all_contenders().iter().map(Contender::name).collect());
    for suite in &bench.options.suites {
        match suite {
            Suite::Calls => calls::run(&bench, &mut report)?,
            Suite::Large => large::run(&bench, &mut report)?,
            Suite::Start => start::run(&bench, &mut report)?,
            Suite::Reload => reload::run(&bench, &mut report)?,
            Suite::Http => {
                http::run(&bench, &mut report)?;
                tokens::run(&bench, &mut report)?;
                listen::run(&bench, &mut report)?;
            }
            Suite::Kill => hostile::kill::run(&bench, &mut report)?,
            Suite::Bystander => hostile::bystander::run(&bench, &mut report)?,
            Suite::Kept => hostile::kept::run(&bench, &mut report)?,
            Suite::Grants => grants::run(&bench, &mut report)?,
            Suite::Outbound => outbound::run(&bench, &mut report)?,
            Suite::Scale => scale::run(&bench, &mut report)?,
            Suite::Several => several::run(&bench, &mut report)?,
            Suite::Sleepers => sleepers::run(&bench, &mut report)?,
        }
    }
    if let Some(file) = &bench.options.plot {
        plot::draw(&report, file)?;
    }
    let rounds = bench.options.rounds;
    let text = if bench.options.json {
        let all =
            json!({ "machine": machine, "rounds": rounds, "quick": bench.options.quick, "measures": report.json() });
        format!("{all:#}\n")
    } else {
        let size = bench.options.size("", ", quick: do not cite");
        format!("{machine}; {rounds} rounds, median (min – max){size}\n\n{}", report.markdown())
    };
    io::stdout().write_all(text.as_bytes()).context("print the figures")
}

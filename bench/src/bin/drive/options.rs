//! The command line of the load generator.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::contender::{Contender, Kind};

pub const USAGE: &str = "\
usage: drive [--wharf FILE] [--native FILE] [--other NAME=COMMAND]… [--components DIR]
             [--only SUITE[,SUITE]…] [--echo FILE] [--calls N] [--rounds N] [--quick] [--json]
             [--plot FILE]

  --wharf FILE       the host's binary; if not given, only the others are measured
  --native FILE      the baseline's binary; likewise
  --other NAME=COMMAND  another server with the tools echo and add, on stdio, for the suite
                     `calls` only; may be repeated
  --components DIR   the folder of echo.wasm, echo-v1.wasm, echo-v2.wasm, folders.wasm,
                     hostile.wasm, notes.wasm and online.wasm
  --only SUITE       calls, large, start, reload, http, kill, bystander,
                     kept, grants, outbound, scale, several or sleepers; default all
  --echo FILE        for the suite `calls`: another component with the tools echo and add
  --calls N          for `calls` and `several`: so many one at a time, a tenth to warm up, and five
                     times as many in flight; default 20000, with --quick 1000
  --rounds N         paired rounds; default 5, with --quick 2
  --quick            fewer rounds, calls and files, less than a minute in all: a smoke test,
                     whose figures are not to be cited. Omits from `kept` the file that the
                     compiler cannot finish, and from `scale` the servers with 100 and 200 plugins
  --json             prints the figures of every round as JSON
  --plot FILE        draws the figures of `http` and `scale` (SVG)
";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suite {
    Calls,
    Large,
    Start,
    Reload,
    Http,
    Kill,
    Bystander,
    Kept,
    Grants,
    Outbound,
    Scale,
    Several,
    Sleepers,
}

impl Suite {
    const ALL: [(&str, Self); 13] = [
        ("calls", Self::Calls),
        ("large", Self::Large),
        ("start", Self::Start),
        ("reload", Self::Reload),
        ("http", Self::Http),
        ("kill", Self::Kill),
        ("bystander", Self::Bystander),
        ("kept", Self::Kept),
        ("grants", Self::Grants),
        ("outbound", Self::Outbound),
        ("scale", Self::Scale),
        ("several", Self::Several),
        ("sleepers", Self::Sleepers),
    ];
}

pub struct Options {
    pub contenders: Vec<Contender>,
    pub components: PathBuf,
    pub suites: Vec<Suite>,
    /// What the suite `calls` calls instead of the guest `echo`.
    pub echo: Option<PathBuf>,
    /// Calls one at a time in the suite `calls`.
    pub calls: usize,
    pub rounds: usize,
    pub quick: bool,
    pub json: bool,
    pub plot: Option<PathBuf>,
}

impl Options {
    /// The parsed options; `None` for help. The last of repeated options counts.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let (mut wharf, mut native, mut others, mut rounds, mut calls) = (None, None, Vec::new(), None, None);
        let mut options = Self {
            contenders: Vec::new(),
            components: PathBuf::from("."),
            suites: Suite::ALL.map(|(_, suite)| suite).into(),
            echo: None,
            calls: 0,
            rounds: 0,
            quick: false,
            json: false,
            plot: None,
        };
        while let Some(option) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("find the value of {option}"));
            match option.as_str() {
                "--wharf" => wharf = Some(PathBuf::from(value()?)),
                "--native" => native = Some(PathBuf::from(value()?)),
                "--other" => others.push(parse_other(&value()?)?),
                "--components" => options.components = value()?.into(),
                "--only" => options.suites = value()?.split(',').map(parse_suite).collect::<Result<_>>()?,
                "--echo" => options.echo = Some(value()?.into()),
                "--calls" => calls = Some(value()?.parse().context("read the number of calls")?),
                "--rounds" => rounds = Some(value()?.parse().context("read the number of rounds")?),
                "--quick" => options.quick = true,
                "--plot" => options.plot = Some(value()?.into()),
                "--json" => options.json = true,
                "-h" | "--help" => return Ok(None),
                _ => bail!("recognise the option {option}"),
            }
        }
        options.calls = calls.unwrap_or(options.size(20_000, 1_000));
        options.rounds = rounds.unwrap_or(options.size(5, 2));
        let named = [(Kind::Wharf, wharf), (Kind::Native, native)];
        for (kind, program) in named.into_iter().filter_map(|(kind, program)| Some((kind, program?))) {
            // The server is started in another working directory.
            let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
            options.contenders.push(Contender { kind, program });
        }
        options.contenders.extend(others);
        if options.contenders.is_empty() {
            bail!("find a server to measure: give --wharf or --native");
        }
        Ok(Some(options))
    }

    /// The second value with `--quick`, otherwise the first.
    pub fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

fn parse_other(text: &str) -> Result<Contender> {
    let split = text.split_once('=').map(|(name, command)| (name, command.split_whitespace().map(str::to_owned)));
    let Some((name, mut words)) = split else { bail!("read {text}: expected NAME=COMMAND") };
    let program = words.next().with_context(|| format!("find the command in {text}"))?;
    // The server is started in another working directory. Links are not resolved: the Python of
    // a virtual environment is one.
    let program = std::path::absolute(program).context("find the current folder")?;
    let absolute = |word: String| match std::path::absolute(&word) {
        Ok(path) if path.exists() => path.display().to_string(),
        _ => word,
    };
    let kind = Kind::Other { name: String::leak(name.to_owned()), arguments: words.map(absolute).collect() };
    Ok(Contender { kind, program })
}

fn parse_suite(name: &str) -> Result<Suite> {
    match Suite::ALL.into_iter().find(|(known, _)| *known == name) {
        Some((_, suite)) => Ok(suite),
        None => bail!("find the suite {name}: the suites are {}", Suite::ALL.map(|(name, _)| name).join(", ")),
    }
}

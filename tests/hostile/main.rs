//! The hostile suite: hostile plugins and clients (H01 to H83 of docs/security.md), each against the
//! real binary over stdio, over HTTP, and with each plugin in a process of its own, while another plugin is called.
//!
//! `cargo test -p wharf-mcp --test hostile -- [stdio|http|process] [H14 …]`. `arena.rs` checks what must hold for
//! every row.

/// The rows of a theme, each named after its function.
macro_rules! rows {
    ($($run:ident),+ $(,)?) => { &[$($crate::Row { run: $run, function: stringify!($run) }),+] };
}

mod approving;
mod arena;
mod asynchronous;
mod audit_log;
mod bombs;
mod changing;
mod disk;
mod files;
mod hidden;
mod host;
mod levels;
mod listing;
mod loading;
mod output;
mod reaching;
mod replacing;
mod running;
mod served;
mod sharing;
mod source;
mod stalled;
mod table;
mod tree;
mod unread;
mod validating;

#[path = "../support/support.rs"]
#[allow(unreachable_pub, dead_code, reason = "what the integration tests share is more than this needs")]
mod support;

use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arena::{Arena, Outcome, Setup};
use host::Transport;

/// An attack and its checks.
#[derive(Clone, Copy)]
struct Row {
    run: fn(Setup) -> Arena,
    /// `h`, its number, and a short description.
    function: &'static str,
}

/// All rows, by theme.
const ROWS: &[&[Row]] = &[
    files::ROWS,
    bombs::ROWS,
    listing::ROWS,
    running::ROWS,
    output::ROWS,
    reaching::ROWS,
    changing::ROWS,
    tree::ROWS,
    validating::ROWS,
    loading::ROWS,
    approving::ROWS,
    unread::ROWS,
    sharing::ROWS,
    replacing::ROWS,
    disk::ROWS,
    hidden::ROWS,
    served::ROWS,
    asynchronous::ROWS,
];

impl Row {
    /// As in docs/security.md: `H12_endless_loop_at_start`.
    fn name(&self) -> String {
        self.function.replacen('h', "H", 1)
    }

    /// `H12`.
    fn number(&self) -> String {
        self.name().chars().take_while(|letter| *letter != '_').collect()
    }

    /// Whether `word` is its number or its name.
    fn is_called(&self, word: &str) -> bool {
        word.eq_ignore_ascii_case(&self.number()) || word.eq_ignore_ascii_case(self.function)
    }
}

fn main() -> ExitCode {
    // Options are for cargo's own harness, and ignored.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut rows = ROWS.concat();
    rows.sort_by_key(|row| row.function);
    let all = rows.len();
    let (ways, names): (Vec<String>, Vec<String>) =
        wanted.into_iter().partition(|word| Transport::ALL.iter().any(|transport| transport.name() == word));
    if !names.is_empty() {
        rows.retain(|row| names.iter().any(|name| row.is_called(name)));
    }
    let transports = Transport::ALL.into_iter();
    let transports = transports.filter(|transport| ways.is_empty() || ways.iter().any(|way| way == transport.name()));
    let transports: Vec<Transport> = transports.collect();
    let mut runs: Vec<Run> = Vec::new();
    for row in &rows {
        for transport in &transports {
            runs.push(Run::start(row, *transport));
            table::print_ended(&mut runs);
        }
    }
    table::conclude(runs, &rows, all, transports.len())
}

/// One row over one transport. Attacks run one at a time; the checks after an attack run beside the
/// next ones.
struct Run {
    row: Row,
    transport: Transport,
    state: State,
    /// How long the attack took.
    took: Duration,
}

enum State {
    Running(JoinHandle<Outcome>),
    /// `None` if it failed, which has been printed.
    Over(Option<Outcome>),
}

impl Run {
    fn start(row: &Row, transport: Transport) -> Self {
        let ((attacking, over), began) = (channel(), Instant::now());
        let run = row.run;
        // The wire log is named after the thread.
        let name = format!("hostile-{}-{}", row.number(), transport.name());
        let thread = std::thread::Builder::new().name(name).spawn(move || play(run, transport, attacking));
        let _ = over.recv();
        let state = State::Running(thread.expect("a thread"));
        Self { row: *row, transport, state, took: began.elapsed() }
    }

    /// Collects its outcome, waiting for it if `wait`. True if it ended just now.
    fn end(&mut self, wait: bool) -> bool {
        let State::Running(thread) = &self.state else { return false };
        if !wait && !thread.is_finished() {
            return false;
        }
        let State::Running(thread) = std::mem::replace(&mut self.state, State::Over(None)) else { return false };
        self.state = State::Over(thread.join().ok());
        true
    }

    fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Over(outcome) => outcome.as_ref(),
            State::Running(_) => None,
        }
    }
}

/// Drops `attacking` when the attack is over.
fn play(run: fn(Setup) -> Arena, transport: Transport, attacking: Sender<()>) -> Outcome {
    let arena = run(Setup::new(transport));
    drop(attacking);
    arena.settle()
}

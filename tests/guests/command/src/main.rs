//! A command-line program that does what its first argument says.

use std::io::{self, Read as _, Write as _};
use std::process::{ExitCode, exit};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(io::stderr(), "command: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let all: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = all.iter().skip(1).map(String::as_str).collect();
    let failed = |error: io::Error| error.to_string();
    let mut out = io::stdout().lock();
    match arguments[..] {
        ["args", ..] => write!(out, "{all:?}").map_err(failed),
        ["cat"] => io::copy(&mut io::stdin().lock(), &mut out).map(|_| ()).map_err(failed),
        // The bytes on stdin, and whether it ends after them.
        ["count"] => {
            let mut stdin = io::stdin().lock();
            let mut all = Vec::new();
            stdin.read_to_end(&mut all).map_err(failed)?;
            let more = stdin.read(&mut [0; 8]).map_err(failed)?;
            write!(out, "{} {more}", all.len()).map_err(failed)
        }
        ["environment"] => {
            let all: Vec<(String, String)> = std::env::vars().collect();
            write!(out, "{all:?}").map_err(failed)
        }
        ["read", path] => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            out.write_all(text.as_bytes()).map_err(failed)
        }
        ["write", path, text] => std::fs::write(path, text).map_err(|error| format!("{path}: {error}")),
        ["exit", code] => {
            write!(out, "before the end").map_err(failed)?;
            out.flush().map_err(failed)?;
            exit(code.parse().map_err(|_| "not a code")?)
        }
        ["print", count] => repeat(&mut out, b"x", count),
        ["complain", count] => {
            repeat(&mut io::stderr().lock(), b"a line of stderr\n", count)?;
            Err("that is all".into())
        }
        ["warn", text] => writeln!(io::stderr(), "{text}").map_err(failed),
        ["bytes"] => out.write_all(b"\xff\xfe\0").map_err(failed),
        ["panic"] => panic!("as it was told to"),
        ["spin"] => loop {
            std::hint::black_box(());
        },
        ["--help"] => write!(out, "Does what its first argument says.\n\nUsage: command WORD…\n").map_err(failed),
        _ => Err("unknown word".into()),
    }
}

fn repeat(out: &mut impl io::Write, what: &[u8], count: &str) -> Result<(), String> {
    let count: usize = count.parse().map_err(|_| "not a count")?;
    let all = what.repeat(count);
    out.write_all(&all).and_then(|()| out.flush()).map_err(|error| error.to_string())
}

//! Questions of commands to the person at the terminal.

use std::io::{self, IsTerminal as _};

use dialoguer::console::{Key, Term};

use crate::os::terminal;
use crate::report::Failure;

const CTRL_D: char = '\u{4}';
/// What Linux makes of one that is typed before the terminal gives single keys.
const EARLY_CTRL_D: char = '\0';

/// Asks, unless `yes` was given on the command line.
///
/// # Errors
/// If the answer is no, or no one can be asked.
pub(super) fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if agrees(question, yes)? { Ok(()) } else { Err(declined()) }
}

/// The answer to a question that `yes` on the command line answers too.
///
/// # Errors
/// If no one can be asked.
pub(super) fn agrees(question: &str, yes: bool) -> Result<bool, Failure> {
    if yes {
        return Ok(true);
    }
    if !can_ask() {
        return Err(Failure::usage(format!("ask for confirmation: not a terminal: {question}"))
            .hint("if you agree, add --yes".to_owned()));
    }
    ask(question)
}

/// After the answer no.
pub(super) fn declined() -> Failure {
    Failure::new("continue: the answer was no; nothing was changed")
}

/// Whether a person is at the terminal.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for yes or no; the default is no.
pub(super) fn ask(question: &str) -> Result<bool, Failure> {
    // What was typed before the question is not an answer to it.
    terminal::discard_input();
    yes_or_no(question, Some(false))
}

/// Asks for yes or no with one key. Enter is the default, if there is one; Escape and Ctrl-D, with which a person ends
/// the input, are no, and so is any other character if the default is no.
pub(super) fn yes_or_no(question: &str, default: Option<bool>) -> Result<bool, Failure> {
    let choice = match default {
        None => "[y/n]",
        Some(true) => "[Y/n]",
        Some(false) => "[y/N]",
    };
    let asked = || {
        let terminal = Term::stderr();
        terminal.write_str(&format!("{question} {choice} "))?;
        let answer = loop {
            match (terminal.read_key()?, default) {
                (Key::Char('y' | 'Y'), _) => break true,
                (Key::Char('n' | 'N' | CTRL_D | EARLY_CTRL_D) | Key::Escape, _) => break false,
                (Key::Enter, Some(default)) => break default,
                // A word that has a y in it is no yes.
                (Key::Char(_), Some(false)) => break false,
                _ => {}
            }
        };
        terminal.clear_line()?;
        terminal.write_line(&format!("{question} {}", if answer { "yes" } else { "no" }))?;
        Ok(answer)
    };
    asked().map_err(|error: io::Error| Failure::new(format!("ask on the terminal: {error}")))
}

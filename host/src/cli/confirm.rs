//! Questions of commands to the person at the terminal.

use std::io::{self, IsTerminal as _};

use dialoguer::Confirm;

use crate::os::terminal;
use crate::report::Failure;

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
        return Err(Failure::usage("ask for confirmation: not a terminal")
            .hint("review the text above, then add --yes".to_owned()));
    }
    ask(question)
}

/// After the answer no.
pub(super) fn declined() -> Failure {
    Failure::new("continue: declined; nothing was changed")
}

/// Whether a person is at the terminal.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for yes or no; the default is no.
pub(super) fn ask(question: &str) -> Result<bool, Failure> {
    // What was typed before the question is not an answer to it.
    terminal::discard_input();
    let answer = Confirm::new().with_prompt(question).default(false).interact();
    answer.map_err(|error| Failure::new(format!("ask on the terminal: {error}")))
}

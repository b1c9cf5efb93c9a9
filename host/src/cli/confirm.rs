//! Questions of commands to the person at the terminal.

use std::io::{self, IsTerminal as _};

use dialoguer::Confirm;

use crate::os::terminal;
use crate::report::Failure;

/// Asks, unless `yes` was given on the command line.
///
/// # Errors
/// If the answer is no, or nobody can be asked.
pub(super) fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::usage("ask for confirmation: not a terminal")
            .hint("review the text above, then add --yes".to_owned()));
    }
    // What was typed before the question is not an answer to it.
    terminal::discard_input();
    match Confirm::new().with_prompt(question).default(false).interact() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new("go on: declined; nothing was changed")),
        Err(error) => Err(Failure::new(format!("ask on the terminal: {error}"))),
    }
}

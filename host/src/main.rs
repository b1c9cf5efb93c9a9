//! The `wharf` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    wharf::cli::main()
}

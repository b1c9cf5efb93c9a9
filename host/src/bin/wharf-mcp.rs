//! The `wharf-mcp` command: `wharf` under the name of its packages.

use std::process::ExitCode;

fn main() -> ExitCode {
    wharf::cli::program_beside()
}

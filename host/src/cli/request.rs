//! What the commands take that make one request: `call`, `read` and `prompt`.

use std::path::PathBuf;

use clap::Args;

use super::ask::AnswerOptions;

#[derive(Args)]
pub(super) struct RequestOptions {
    /// A folder of plugins, or one .wasm file
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) answers: AnswerOptions,
    /// Print the result as MCP JSON
    #[arg(long)]
    pub(super) json: bool,
}

//! `wharf read`: one resource from the shell.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use super::call::contents;
use super::conversation::converse;
use super::grant::explain_failure;
use super::options::Options;
use super::request::RequestOptions;
use super::unapproved::{Wanted, load};
use crate::report::{Failure, Screen};

#[derive(Args)]
pub(super) struct ReadOptions {
    #[command(flatten)]
    request: RequestOptions,
    /// The resource's URI: one that `wharf list` shows, or that fits a template
    uri: String,
}

pub(super) async fn run(options: &Options, how: ReadOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let answers = how.request.answers.read()?;
    let mut local = load(options, &how.request.path, Wanted::Resource(&how.uri), screen).await?;
    let provider = local.expect_resource(&how.uri)?;
    let params = Map::from_iter([("uri".to_owned(), Value::String(how.uri))]);
    let answer = converse(&mut local, "resources/read", params, &answers).await;
    let answer = answer.map_err(|failure| explain_failure(options, &*provider, &how.request.path, failure))?;
    answer.print(how.request.json, text).map(|()| ExitCode::SUCCESS)
}

/// All contents as text for people.
fn text(result: &Value) -> String {
    let all = result["contents"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().map(contents).collect::<Vec<_>>().join("\n")
}

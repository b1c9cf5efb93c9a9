//! `wharf prompt`: the messages of one prompt, from the shell.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use super::arguments::Arguments;
use super::call::block;
use super::conversation::{converse, with_arguments};
use super::entry;
use super::grant::explain_failure;
use super::options::Options;
use super::request::RequestOptions;
use super::unapproved::{Wanted, load};
use crate::report::{self, Failure, NAME, Screen};
use crate::text::printable;

#[derive(Args)]
pub(super) struct PromptOptions {
    #[command(flatten)]
    request: RequestOptions,
    /// The prompt's name, as `wharf list` shows it
    name: String,
    /// KEY=VALUE for each argument, or all as one JSON object, which `-` reads from stdin
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

pub(super) async fn run(options: &Options, how: PromptOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let answers = how.request.answers.read()?;
    let mut local = load(options, &how.request.path, Wanted::Prompt(&how.name), screen).await?;
    let prompt = local.prompt(&how.name)?;
    let arguments = prompt.item().arguments.iter().map(|argument| (argument.name.as_str(), argument.required));
    let signature = entry::prompt_signature(prompt.name.as_str(), arguments);
    let usage = || report::message(&format!("{NAME}usage{NAME:#}: {}", printable(&signature)));
    // The protocol has only texts.
    let arguments = Arguments::read(&how.arguments, &Value::Null);
    let names = prompt.item().arguments.iter().map(|argument| argument.name.as_str());
    let arguments = arguments.and_then(|given| given.texts(names)).inspect_err(|_| usage())?;
    if prompt.item().arguments.iter().any(|argument| argument.required && arguments.get(&argument.name).is_none()) {
        usage();
    }
    let params = with_arguments(prompt.name.as_str(), arguments);
    let answer = converse(&mut local, "prompts/get", params, &answers).await;
    let answer = answer.map_err(|failure| explain_failure(options, &*prompt.provider, &how.request.path, failure))?;
    answer.print(how.request.json, text).map(|()| ExitCode::SUCCESS)
}

/// The messages as text for people.
fn text(result: &Value) -> String {
    let messages = result["messages"].as_array().map_or(&[][..], Vec::as_slice);
    messages.iter().map(message).collect::<Vec<_>>().join("\n\n")
}

/// The first line has the role; the next ones are indented, so that none looks like another message.
fn message(message: &Value) -> String {
    let role = printable(message["role"].as_str().unwrap_or_default());
    format!("{NAME}{role}{NAME:#}: {}", block(&message["content"]).replace('\n', "\n  "))
}

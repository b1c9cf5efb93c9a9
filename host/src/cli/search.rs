//! `wharf search`: the repositories of a registry that lists them, and the tags of one.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::fetch::failure;
use super::json_text::indented;
use super::options::Options;
use crate::net::http::Http;
use crate::registry::{Reference, Registry, Repository, SCHEME};
use crate::report::{self, Failure, Screen};
use crate::text::{escape_hidden_in_json, printable};

#[derive(Args)]
pub(super) struct SearchOptions {
    /// HOST[/PREFIX], or HOST/PATH of one repository
    registry: String,
    /// Only those that contain this text
    text: Option<String>,
    /// Print a JSON array of references
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(options: &Options, how: SearchOptions, screen: &Screen) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let named = how.registry.strip_prefix(SCHEME).unwrap_or(&how.registry).trim_end_matches('/');
    let invalid =
        |error| Failure::usage(format!("read the registry: {error}")).hint("write HOST or HOST/PATH".to_owned());
    let (host, prefix) = named.split_once('/').unwrap_or((named, ""));
    // A registry has to be named by a repository of it.
    let any = Repository::parse(&format!("{host}/x")).map_err(invalid)?;
    let http = Http::default();
    let search = async |repository: &Repository| {
        let settings = config.registry_settings(repository);
        Registry::for_pull(&http, repository, &settings).await
    };
    let what = format!("search {named}");
    let tags = if prefix.is_empty() {
        Vec::new()
    } else {
        let repository = Repository::parse(named).map_err(invalid)?;
        let registry = search(&repository).await.map_err(|error| failure(&what, error))?;
        // It may be a prefix, of which no repository has the name.
        screen.timed(&format!("searching {named}"), registry.tags()).await.unwrap_or_default()
    };
    let mut found: Vec<String> = tags.iter().map(|tag| format!("{SCHEME}{named}:{tag}")).collect();
    if found.is_empty() {
        let registry = search(&any).await.map_err(|error| failure(&what, error))?;
        let repositories = screen.timed(&format!("searching {named}"), registry.repositories()).await;
        let repositories = repositories.map_err(|error| {
            failure(&what, error).or_hint(&format!(
                "many registries list no repositories; name one to see its tags: wharf search {host}/PATH"
            ))
        })?;
        let is_below = |path: &String| prefix.is_empty() || *path == prefix || path.starts_with(&format!("{prefix}/"));
        found = repositories.into_iter().filter(is_below).map(|path| format!("{SCHEME}{host}/{path}")).collect();
    }
    // A registry may name anything.
    found.retain(|reference| reference.parse::<Reference>().is_ok());
    found.retain(|reference| how.text.as_ref().is_none_or(|text| reference.contains(text.as_str())));
    if how.json {
        report::print(&indented(&escape_hidden_in_json(&json!(found).to_string())))?;
    }
    if found.is_empty() {
        report::message("nothing was found");
        return Ok(ExitCode::FAILURE);
    }
    if !how.json {
        report::print(&found.iter().map(|reference| printable(reference) + "\n").collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

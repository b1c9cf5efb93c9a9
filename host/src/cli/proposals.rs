//! `wharf proposals`: plugins that models named, for a person to look at.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wharf_report::{line, shell_text};

use super::json_text::indented;
use super::options::Options;
use super::shared;
use crate::proposals::{Proposal, ProposalError};
use crate::report::{self, Failure, NAME};
use crate::text::{escape_hidden_in_json, printable};

#[derive(Args)]
pub(super) struct ProposalOptions {
    /// Forget the proposals of this reference
    #[arg(long, value_name = "REFERENCE", conflicts_with = "drop_all")]
    drop: Option<String>,
    /// Forget all
    #[arg(long)]
    drop_all: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &Options, how: ProposalOptions) -> Result<ExitCode, Failure> {
    let proposals = shared::proposals(&options.config()?)?;
    let proposals = proposals.ok_or_else(|| Failure::usage("find the proposals: no home folder"))?;
    let failed = |error: ProposalError| Failure::new(format!("read the proposals: {error}: {proposals}"));
    if how.drop_all || how.drop.is_some() {
        let keep = |proposal: &Proposal| how.drop.as_ref().is_some_and(|dropped| *dropped != proposal.reference);
        let dropped = proposals.retain(keep).map_err(failed)?;
        report::message(&format!("forgot {dropped} proposals"));
        return Ok(ExitCode::SUCCESS);
    }
    let all = proposals.read().map_err(|error| failed(error.into()))?;
    if how.json {
        report::print(&indented(&escape_hidden_in_json(&json!(all).to_string())))?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        report::message("there are no proposals");
        return Ok(ExitCode::SUCCESS);
    }
    let program = options.program();
    let mut text = String::new();
    for Proposal { reference, reason, by } in &all {
        let [reference, reason, by] = [reference, reason, by].map(|text| line(&printable(text)));
        text += &format!("{NAME}{reference}{NAME:#}\n  by       {by}\n  reason   {reason}\n");
        text += &format!("  to see   {program} add {}\n", shell_text(&reference));
    }
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

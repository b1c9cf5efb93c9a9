//! `wharf approvals`: calls that wait for an operator's decision, and what was decided.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wharf_report::{DIM, line};

use super::audit;
use super::json_text::indented;
use super::options::Options;
use super::shared;
use super::wrapped;
use crate::approvals::{ApprovalError, Approvals, Decision, Request};
use crate::audit::{Body, Event, Record};
use crate::plugin::Digest;
use crate::report::{self, Failure, NAME};
use crate::text::{escape_hidden_in_json, printable};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ApprovalOptions {
    #[command(subcommand)]
    command: Option<ApprovalCommand>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum ApprovalCommand {
    /// Show one: who calls which tool with which arguments
    Show { id: String },
    /// Allow it: the next equal call of the same user runs, once or for a while
    Allow { id: String },
    /// Deny it, also one that was allowed before
    Deny { id: String },
}

pub(super) fn run(options: &Options, how: ApprovalOptions) -> Result<ExitCode, Failure> {
    let approvals = shared::approvals(&options.config()?)?;
    if !approvals.are_shared() {
        return Err(Failure::usage("find the approvals: no home folder"));
    }
    match how.command {
        None => list(options, &approvals, how.json)?,
        Some(ApprovalCommand::Show { id }) => {
            let all = approvals.list().map_err(|error| failed(&approvals, error.into()))?;
            let request =
                all.iter().find(|request| request.id == id).ok_or_else(|| unknown(options, &approvals, &id))?;
            report::print(&wrapped::for_stdout(&shown(request)))?;
        }
        Some(ApprovalCommand::Allow { id }) => decide(options, &approvals, &id, Decision::Allowed)?,
        Some(ApprovalCommand::Deny { id }) => decide(options, &approvals, &id, Decision::Denied)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(options: &Options, approvals: &Approvals, as_json: bool) -> Result<(), Failure> {
    let all = approvals.list().map_err(|error| failed(approvals, error.into()))?;
    if as_json {
        let all: Vec<Value> = all.iter().map(to_json).collect();
        return report::print(&indented(&escape_hidden_in_json(&json!(all).to_string())));
    }
    if all.is_empty() {
        report::message(&format!("no call waits for a decision, and none holds: {approvals}"));
        return Ok(());
    }
    let texts: Vec<String> = all.iter().map(shown).collect();
    report::print(&wrapped::for_stdout(&texts.join("\n")))?;
    if let Some(waiting) = all.iter().find(|request| request.decision == Decision::Waiting) {
        let (program, id) = (options.program(), &waiting.id);
        report::message(&format!("to decide: {program} approvals allow {id}, or {program} approvals deny {id}"));
    }
    Ok(())
}

/// Decides, and shows on what. The log is opened before: what cannot be recorded is not decided.
fn decide(options: &Options, approvals: &Approvals, id: &str, decision: Decision) -> Result<(), Failure> {
    let config = options.config()?;
    let log = audit::open(&config)?;
    let decided = approvals.decide(id, decision).map_err(|error| failed(approvals, error))?;
    let request = decided.ok_or_else(|| unknown(options, approvals, id))?;
    report::print(&wrapped::for_stdout(&shown(&request)))?;
    audit::recorded(log, &config, &record_of(&request), id)
}

/// The record of an operator's decision.
pub(in crate::cli) fn record_of(request: &Request) -> Record {
    let call = &request.call;
    let digest = |hex: &str| Digest::parse(hex).map(|digest| *digest.as_bytes());
    let input = digest(&call.digest).map(|digest| Body {
        bytes: call.bytes,
        hash: blake3::Hash::from_bytes(digest),
        text: None,
    });
    Record {
        plugin: Some(call.plugin.clone()),
        content: digest(&call.version),
        principal: Some(call.by.as_str().into()),
        tool: Some(Record::capped(&call.name)),
        reason: Some(Record::capped(&request.id)),
        input,
        by: Some("operator"),
        code: Some(word(request.decision)),
        ..Record::new(Event::Decide)
    }
}

pub(in crate::cli) fn failed(approvals: &Approvals, error: ApprovalError) -> Failure {
    Failure::new(format!("use the approvals: {error}: {approvals}"))
}

fn unknown(options: &Options, approvals: &Approvals, id: &str) -> Failure {
    let hint = format!("{} approvals shows all; they expire", options.program());
    let id = line(&printable(id));
    Failure::usage(format!("find a call of that id in {approvals}: {id}")).hint(hint)
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Waiting => "waits",
        Decision::Allowed => "allowed",
        Decision::Denied => "denied",
    }
}

fn shown(request: &Request) -> String {
    let Request { id, call, once, decision, by, .. } = request;
    let [who, tool, arguments] = [&call.by, &call.tool, &call.arguments].map(|text| line(&printable(text)));
    let scope = match (decision, once) {
        (Decision::Denied, _) => "this call",
        (_, true) => "this call, once",
        (_, false) => "all calls of this tool by this user, with any arguments",
    };
    let by = by.map(|by| format!(" by the {}", by.name())).unwrap_or_default();
    let left = request.expires().duration_since(SystemTime::now()).unwrap_or_default();
    let left = humantime::format_duration(Duration::from_secs(left.as_secs()));
    let since = humantime::format_rfc3339_seconds(request.since());
    let rows = [
        ("tool", format!("{}/{tool}", call.plugin)),
        ("user", who),
        ("arguments", arguments),
        ("digest", format!("{} of {} bytes", call.digest, call.bytes)),
        ("version", call.version.clone()),
        ("is for", scope.to_owned()),
        ("since", since.to_string()),
        ("expires", format!("in {left}")),
    ];
    let extras = (!call.extras.is_empty()).then(|| ("extra", line(&printable(&call.extras))));
    let rows: String = rows.iter().chain(&extras).map(|(name, value)| format!("  {name:<9}  {value}\n")).collect();
    format!("{NAME}{id}{NAME:#} {DIM}{}{by}{DIM:#}\n{rows}", word(*decision))
}

pub(in crate::cli) fn to_json(request: &Request) -> Value {
    let Request { id, call, once, decision, by, .. } = request;
    let time = |at| humantime::format_rfc3339_seconds(at).to_string();
    json!({
        "id": id,
        "state": word(*decision),
        "by": by.map(|by| by.name()),
        "user": call.by,
        "plugin": call.plugin,
        "version": call.version,
        "extra": call.extras,
        "tool": call.tool,
        "arguments": call.arguments,
        "argumentBytes": call.bytes,
        "argumentDigest": call.digest,
        "once": once,
        "since": time(request.since()),
        "expires": time(request.expires()),
    })
}

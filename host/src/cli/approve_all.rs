//! `wharf approve --all`: one question for all versions in a folder that wait for approval.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use wharf_report::{ShowPath as _, shell_word, warning};

use super::candidate::Candidate;
use super::confirm::confirm;
use super::examine::Examination;
use super::load_file::refused;
use super::options::Options;
use super::shown::Shown;
use super::skills::FoundSkill;
use super::summary::summary;
use super::survey::{Survey, report_left};
use super::wiring::{guard, lock_failure};
use super::{audit, skills, wrapped};
use crate::audit::Event;
use crate::config::Config;
use crate::pins::{Guard, ListedVersion, Trust, approve_command};
use crate::plugin::PluginId;
use crate::report::{self, Failure, NAME, Screen};
use crate::skills::FOLDER;

/// A version that waits, and how it is listed with its grants.
struct Waiting {
    id: PluginId,
    path: PathBuf,
    version: ListedVersion,
}

pub(super) async fn run(
    options: &Options,
    dir: Option<PathBuf>,
    yes: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let left = approve_all(options, dir, yes, screen).await?;
    Ok(if left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns how many versions are not approved.
pub(super) async fn approve_all(
    options: &Options,
    dir: Option<PathBuf>,
    yes: bool,
    screen: &Screen,
) -> Result<usize, Failure> {
    let survey = Survey::open(options, options.config()?, dir).await?;
    let Survey { config, dir, .. } = &survey;
    let (mut waiting, mut approved, mut left) = (Vec::new(), 0, 0);
    let leave_out = |id: &PluginId, why: &str| {
        let command = approve_command(&config.program(), id, Some(dir));
        warning(&format!("{id} is left out: {why}; to look at it alone: {command}"));
    };
    let files = survey.files.in_order().map(|(id, path)| (id.to_string(), (id, path))).collect();
    let one = async |(id, path)| (id, path, examine(&survey, id, path).await);
    let (mut found, rest) = Examination::begin(screen, "loading").of(files, one, |(.., found)| found.is_ok()).await;
    found.sort_by_key(|(id, ..)| *id);
    left += usize::from(!report_left(dir, rest.as_deref()));
    for (id, path, examined) in found {
        match examined {
            Ok(Some((text, version))) => {
                report::message(&wrapped::for_stderr(text.trim_end()));
                waiting.push(Waiting { id: id.clone(), path: path.to_owned(), version });
            }
            Ok(None) => approved += 1,
            Err(why) => {
                left += 1;
                leave_out(id, &why);
            }
        }
    }
    let skills = skills::found_in(&dir.join(FOLDER)).0;
    for skill in &skills {
        match examine_skill(&survey, skill) {
            Ok(Some((text, version))) => {
                report::message(&wrapped::for_stderr(text.trim_end()));
                waiting.push(Waiting { id: skill.id.clone(), path: skill.path.clone(), version });
            }
            Ok(None) => approved += 1,
            Err(why) => {
                left += 1;
                leave_out(&skill.id, &why);
            }
        }
    }
    if waiting.is_empty() {
        let what = match (approved, survey.files.in_order().count() + skills.len()) {
            (_, 0) => "there are no plugins".to_owned(),
            (approved, all) if approved == all => format!("all {all} versions are approved already"),
            (approved, all) => format!("no version can be approved, and {approved} of {all} are already"),
        };
        report::message(&format!("{what}, in {}", dir.shown()));
        return Ok(left);
    }
    let command = format!("{} check --json {}", config.program(), shell_word(dir));
    report::message(&format!("their descriptions, schemas and packed skills are printed by: {command}"));
    let what = if waiting.len() == 1 { "this version".to_owned() } else { format!("these {} versions", waiting.len()) };
    confirm(&format!("Approve {what}?"), yes)?;
    for Waiting { id, path, version } in waiting {
        let id = &id;
        let holds = if id.is_skill() {
            let is_same = skills::content_in(dir, id) == Some(version.version.content);
            if is_same { Ok(()) } else { Err("its files changed".to_owned()) }
        } else {
            let may_change = config.may_change_lists(id);
            let again = approve_command(&config.program(), id, Some(dir));
            let version = version.version.clone();
            Shown { options, id, path: &path, again: &again, version, may_change }.holds().await
        };
        if let Err(what) = holds {
            left += 1;
            leave_out(id, &format!("since the question, {what}"));
            continue;
        }
        let log = audit::open(config)?;
        if let Err(change) = survey.lock.approve(id, &version, &survey.pins).map_err(lock_failure)? {
            left += 1;
            leave_out(id, &format!("since the question, {change}"));
            continue;
        }
        audit::decided(log, config, Event::Approve, id, version.version.content)?;
        report::message(&format!("{NAME}approved{NAME:#} {id} blake3:{}", version.version.content));
    }
    Ok(left)
}

/// The same of a skill.
fn examine_skill(survey: &Survey, skill: &FoundSkill) -> Result<Option<(String, ListedVersion)>, String> {
    let version = skill.version.as_ref().map_err(|error| format!("failed to {error}"))?;
    match strict_guard(&survey.config)?.may_run(&skill.id, &version.listed.version) {
        Ok(_) => return Ok(None),
        Err(reason) if !reason.needs_approval() => return Err(reason.to_string()),
        Err(_) => {}
    }
    let pinned = survey.pins.get(&skill.id).and_then(|pin| survey.lock.surface(pin.surface));
    Ok(Some((skills::summary(skill, version, pinned.as_deref()), version.listed.clone())))
}

/// That of a server which other machines reach: this command does not know how the server was started.
fn strict_guard(config: &Arc<Config>) -> Result<Guard, String> {
    let shared = config.clone();
    let guard = guard(move || shared.clone(), Trust::Strict);
    guard.map(Guard::read_only).map_err(|failure| format!("failed to {}", failure.into_parts().0))
}

/// The summary of a version that is not approved yet. One whose listing depends on its grants needs a decision of its
/// own.
async fn examine(survey: &Survey, id: &PluginId, path: &Path) -> Result<Option<(String, ListedVersion)>, String> {
    let Survey { config, sandbox, lock, pins, .. } = survey;
    let why = |error| format!("failed to {}", refused(error, path).0);
    let mut candidate = Candidate::read(config, path, id).await.map_err(|(reason, _)| format!("failed to {reason}"))?;
    let (plugin, _) = match strict_guard(config)?.may_run(id, &candidate.seen) {
        Ok(_) => return Ok(None),
        Err(reason) if !reason.needs_approval() => return Err(reason.to_string()),
        Err(_) => candidate.load(config, sandbox, id, config.grants(id).none()).await.map_err(why)?,
    };
    let version = candidate.record_surface(&plugin);
    let pin = pins.get(id);
    let signer = version.version.signer.as_ref().map(ToString::to_string);
    if let Some(before) = pin.and_then(|pin| pin.signer.as_ref()).filter(|before| signer.as_ref() != Some(*before)) {
        return Err(format!("the previous version was signed by {before}, and this one is not"));
    }
    if !version.version.grants.is_empty() {
        let granted = plugin.granted(config.limits(id), config.grants(id)).await.map_err(why)?;
        if candidate.record_surface(&granted).surface_text != version.surface_text {
            return Err("its tool descriptions are different with its grants".to_owned());
        }
    }
    let pinned = pin.and_then(|pin| lock.surface(pin.surface));
    let summary = summary(path, None, pinned.as_deref(), &plugin, &version, config);
    Ok(Some((summary, version)))
}

//! `wharf status`: which versions run, which are pending approval, and what those would change.
//!
//! It does not contact a server: it reads the folder and the pins, as a server does, and what servers wrote of budgets.

mod skill;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use serde_json::{Value, json};
use wharf_report::{ERROR, GOOD, ShowPath as _, WARNING, bounded, hint, line, shell_word, warning};

use super::candidate::Candidate;
use super::changes::{Change, changes};
use super::examine::Examination;
use super::extra::ShownExtra;
use super::folder::is_file;
use super::load_file::{Refused, refused};
use super::options::Options;
use super::origins::{Origin, OriginFile};
use super::place::is_component;
use super::recorder::Kept;
use super::summary::{CHANGE_LISTS, offers};
use super::survey::{Survey, report_left, report_left_out};
use super::target::{Target, is_same, plugin, unfound};
use super::wiring::read_only_guard;
use super::{absent, budgets, skills, tasks, wrapped};
use crate::config::{Config, base};
use crate::pins::{Decision, Guard, Pin, PluginVersion, Reason};
use crate::plugin::{Grants, LoadError, Pages, PluginId, ProtectedFolders};
use crate::report::{self, Failure, NAME, Screen};
use crate::skills::FOLDER;
use crate::text::escape_hidden_in_json;

pub(super) async fn run(
    options: &Options,
    dir: Option<PathBuf>,
    name: Option<&str>,
    json: bool,
    screen: &Screen,
) -> Result<ExitCode, Failure> {
    let config = options.config()?;
    let (dir, only) = chosen(&config, dir, name)?;
    let survey = Survey::open(options, config, dir).await?;
    let Survey { config, dir, .. } = &survey;
    let program = config.program();
    let (skills, errors) = skills::found_in(&dir.join(FOLDER));
    let is_there = |id: &PluginId| survey.files.get(id).is_some() || skills.iter().any(|skill| skill.id == *id);
    if let Some(id) = only.as_ref().filter(|id| !is_there(id)) {
        return Err(unfound(id, dir, &survey.files, None));
    }
    let protected = options.protected(config, std::slice::from_ref(dir), base().as_ref());
    let origins = OriginFile::of(dir).read().map(|read| read.plugins).unwrap_or_else(|failure| {
        // What may run does not depend on it.
        warning(&format!("failed to {}", failure.into_parts().0));
        BTreeMap::new()
    });
    let examiner = Examiner { guard: read_only_guard(config)?, survey: &survey, protected, origins };
    let mut misnamed = if only.is_none() { report_left_out(dir, &survey.files.left_out) } else { 0 };
    for error in errors.iter().filter(|_| only.is_none()) {
        misnamed += 1;
        warning(&format!("failed to {error}"));
    }
    let files = survey.files.in_order().filter(|(id, _)| only.as_ref().is_none_or(|only| only == *id));
    let files = files.map(|(id, path)| (id.to_string(), (id, path))).collect();
    let examination = Examination::begin(screen, "loading");
    let one = |(id, path)| examiner.status(id, path);
    let (mut found, left) = examination.of(files, one, |status| status.state.is_ok()).await;
    found.sort_by(|one, other| one.id.cmp(&other.id));
    let skills = skills.into_iter().filter(|skill| only.as_ref().is_none_or(|only| *only == skill.id));
    let of_plugins = found.len();
    found.extend(skills.map(|skill| examiner.skill_status(skill)));
    let all_run = report_left(dir, left.as_deref()) && misnamed == 0 && found.iter().all(|status| status.state.is_ok());
    let left = if only.is_none() { budgets::left(dir) } else { Vec::new() };
    let kept = if only.is_none() { tasks::kept(config, dir).await } else { Ok(0) };
    let kept = kept.unwrap_or_else(|failure| {
        warning(&format!("failed to {}", failure.into_parts().0));
        0
    });
    let recorded = if only.is_none() { Kept::of(config) } else { Ok(None) };
    let recorded = recorded.unwrap_or_else(|failure| {
        warning(&format!("failed to {}", failure.into_parts().0));
        None
    });
    if json {
        let mut plugins: Vec<Value> = found.iter().map(|status| status.to_json(&program, dir)).collect();
        let skills = plugins.split_off(of_plugins);
        let recordings = recorded.as_ref().map(Kept::to_json);
        let all = json!({
            "plugins": plugins, "skills": skills, "budgets": left, "tasks": kept, "recordings": recordings,
        });
        report::print(&escape_hidden_in_json(&all.to_string()))?;
    } else if found.is_empty() && misnamed == 0 {
        report::message(&format!("no plugins in {}", dir.shown()));
    } else {
        found.iter().flat_map(|status| &status.warnings).for_each(|text| warning(text));
        let texts = found.iter().map(|status| status.to_text(&program, dir, only.is_some()));
        let left = wrapped::for_stdout(&budgets::to_text(config, &left));
        let kept = match kept {
            0 => String::new(),
            1 => format!("1 task is kept: {program} tasks {}\n", shell_word(dir)),
            many => format!("{many} tasks are kept: {program} tasks {}\n", shell_word(dir)),
        };
        let recorded = recorded.map_or_else(String::new, |recorded| wrapped::for_stdout(&(recorded.text() + "\n")));
        report::print(&format!("{}{left}{kept}{recorded}{}", texts.collect::<String>(), counts(&found, misnamed)))?;
        let waiting = found.iter().filter(|status| status.needs_approval()).count();
        let folder = shell_word(dir);
        hint((waiting > 1).then(|| format!("to approve all {waiting}: {program} approve --all {folder}")).as_deref());
    }
    Ok(if all_run { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder, and the only plugin that is asked about, which may be given as its file.
fn chosen(
    config: &Config,
    dir: Option<PathBuf>,
    name: Option<&str>,
) -> Result<(Option<PathBuf>, Option<PluginId>), Failure> {
    let program = config.program();
    match (dir, name) {
        (Some(dir), Some(name)) if !dir.is_dir() && Path::new(name).is_dir() => {
            let (folder, id) = (shell_word(Path::new(name)), shell_word(&dir));
            Err(Failure::usage(format!("read the plugin folder: not a folder: {}", dir.shown()))
                .hint(format!("write the folder first, then the name: {program} status {folder} {id}")))
        }
        (Some(file), None) if is_file(&file) => {
            let command = format!("{program} status");
            let Target { id, folder } = Target::of(config, &command, &file.to_string_lossy(), None, &[])?;
            Ok((folder, Some(id)))
        }
        (dir, name) => Ok((dir, name.map(plugin).transpose()?)),
    }
}

/// Determines the status of plugins.
struct Examiner<'a> {
    survey: &'a Survey,
    guard: Guard,
    protected: ProtectedFolders,
    origins: BTreeMap<String, Origin>,
}

/// The status of one plugin.
struct Status {
    id: PluginId,
    pin: Option<Pin>,
    /// What the configuration grants now, independent of the pinned version.
    grants: Grants,
    /// Whether the configuration lets its descriptions change.
    may_change: bool,
    /// What is known about the file, if it can be read.
    seen: Option<PluginVersion>,
    /// Where the plugin is from, and whether the file is the version that came from there.
    origin: Option<(Origin, bool)>,
    /// The changes from the pinned version to the file.
    changes: Vec<Change>,
    /// What the file offers, by kind, if it is not pinned.
    offers: Vec<(&'static str, String)>,
    /// When the pinned version was revoked.
    revoked: Option<SystemTime>,
    /// What is granted without effect.
    warnings: Vec<String>,
    state: Result<(), NotRunning>,
}

enum NotRunning {
    Held(Reason),
    Refused(Refused),
}

impl Examiner<'_> {
    async fn status(&self, id: &PluginId, path: &Path) -> Status {
        let pin = self.survey.pins.get(id).cloned();
        let grants = self.survey.config.grants(id);
        let may_change = self.survey.config.may_change_lists(id);
        let warnings = absent::grants(id, &grants, &self.protected);
        let revoked = pin.as_ref().and_then(|pin| self.survey.pins.revoked_at(pin.content));
        let origin = self.origins.get(id.as_ref());
        let origin = origin.map(|origin| (origin.clone(), is_component(path, origin.component)));
        let (id, changes, offers) = (id.clone(), Vec::new(), Vec::new());
        let (seen, state) = (None, Ok(()));
        let mut status =
            Status { id, pin, grants, may_change, seen, origin, changes, offers, revoked, warnings, state };
        status.state = self.examine(&mut status, path).await;
        status
    }

    async fn examine(&self, status: &mut Status, path: &Path) -> Result<(), NotRunning> {
        let Survey { config, sandbox, lock, .. } = self.survey;
        let (id, grants) = (status.id.clone(), config.grants(&status.id));
        let refused = |error: LoadError| NotRunning::Refused(refused(error, path));
        let mut candidate = Candidate::read(config, path, &id).await.map_err(NotRunning::Refused)?;
        status.seen = Some(candidate.seen.clone());
        let pin = status.pin.as_ref();
        let pinned = || pin.and_then(|pin| lock.surface(pin.surface));
        let (mut listed, mut needs_grants_to_list) = (None, false);
        if pin.is_none_or(|pin| pin.content != candidate.seen.content) {
            let loaded = candidate.load(config, sandbox, &id, grants.none()).await;
            if let Ok((plugin, version)) = &loaded {
                status.changes = changes(pinned().as_deref(), &version.surface_text);
                status.offers = offers(plugin);
            }
            status.seen = Some(candidate.seen.clone());
            match loaded {
                Ok((plugin, _)) => listed = Some(plugin),
                Err(error) if error.is_of_listing() && !candidate.seen.grants.is_empty() => needs_grants_to_list = true,
                // It cannot be approved.
                Err(error) => return Err(refused(error)),
            }
        }
        // One that cannot be listed without its grants may be held for another reason.
        let with_grants = self.guard.may_serve(&id, &candidate.seen).map_err(NotRunning::Held)?;
        if needs_grants_to_list && !with_grants {
            return Err(NotRunning::Held(Reason::ListingNeedsGrants));
        }
        let is_compared = self.guard.pins_surface(&id, !candidate.seen.grants.is_empty());
        if pin.is_none() || !is_compared || self.guard.configured_pin(&id).is_some() {
            return Ok(());
        }
        // A server lists it with its grants and compares that too. Also what was approved may list something else by now.
        let version = match listed {
            Some(plugin) => {
                let granted = plugin.granted(config.limits(&id), grants).await.map_err(refused)?;
                candidate.record_surface(&granted)
            }
            None => candidate.load(config, sandbox, &id, grants).await.map_err(refused)?.1,
        };
        let served = self.guard.may_serve(&id, &candidate.seen);
        if served.is_err() {
            status.changes = changes(pinned().as_deref(), &version.surface_text);
        }
        status.seen = Some(candidate.seen);
        served.map(|_| ()).map_err(NotRunning::Held)
    }
}

impl Status {
    /// Kinds of access that the file needs and the pinned version did not.
    fn additional_needs(&self) -> Vec<&'static str> {
        let (Some(seen), Some(pin)) = (&self.seen, &self.pin) else { return Vec::new() };
        seen.needs.iter().map(|access| access.name()).filter(|name| !pin.needs.contains(*name)).collect()
    }

    /// That a running server keeps the version which the file would replace.
    fn serving_line(&self) -> &'static str {
        let is_other = |pin: &Pin| self.seen.as_ref().is_none_or(|seen| seen.content != pin.content);
        match &self.pin {
            Some(pin) if is_other(pin) => "  serving  the pinned version still, if a server had it in service\n",
            _ => "",
        }
    }

    fn hint(&self, program: &str, dir: &Path) -> Option<String> {
        match &self.state {
            Ok(()) => None,
            Err(NotRunning::Refused((_, hint))) => hint.clone(),
            Err(NotRunning::Held(reason)) => {
                let seen = self.seen.as_ref()?;
                Some(Decision::new(self.id.clone(), seen, Err(reason.clone())).command(program, dir))
            }
        }
    }

    /// What the pinned version needs, and whether that is granted now.
    fn needs_line(&self, pin: &Pin) -> String {
        let kinds = self.grants.kinds();
        let granted = |need: &str| kinds.iter().find(|access| access.name() == need);
        let needs = pin.needs.iter().map(|need| {
            let granted = match granted(need) {
                Some(access) if self.grants.allow(*access) => "granted",
                Some(_) => "granted to some callers",
                None => "not granted",
            };
            format!("{need} ({granted})")
        });
        let needs: Vec<String> = needs.collect();
        let needs = shown(&needs.join(", "));
        listed("needs", Some(needs.as_str()).filter(|needs| !needs.is_empty()).into_iter())
    }

    /// What is granted now, and what was granted when the version was pinned, if that differs.
    fn granted_line(&self) -> String {
        let now: BTreeSet<&str> = self.grants.kinds().iter().map(|access| access.name()).collect();
        let pinned: BTreeSet<&str> = self.pin.iter().flat_map(|pin| &pin.grants).map(String::as_str).collect();
        let written = |names: &BTreeSet<&str>| match names.is_empty() {
            true => "nothing".to_owned(),
            false => names.iter().copied().collect::<Vec<_>>().join(", "),
        };
        if self.pin.is_some() && pinned != now {
            let pinned = shown(&written(&pinned));
            return format!("  granted  {} (when pinned: {pinned})\n", written(&now));
        }
        listed("granted", now.into_iter())
    }

    fn needs_approval(&self) -> bool {
        matches!(&self.state, Err(NotRunning::Held(reason)) if reason.needs_approval())
    }

    /// `in_full`: with the descriptions of a plugin that is new. `approve` shows these before it asks.
    fn to_text(&self, program: &str, dir: &Path, in_full: bool) -> String {
        let mut text = format!("{NAME}{}{NAME:#}\n", self.id);
        match &self.pin {
            None => text += "  pinned   nothing\n",
            Some(pin) => {
                let (by, time) = match (self.revoked, pin.approved) {
                    (Some(revoked), _) => ("revoked", revoked),
                    (None, true) => ("approved", pin.time),
                    (None, false) => ("auto-approved", pin.time),
                };
                let time = humantime::format_rfc3339_seconds(time);
                text += &format!("  pinned   blake3:{}…, {by}, {time}\n", pin.content.short());
                text += &self.needs_line(pin);
                if let Some(folder) = pin.folder.as_ref().filter(|folder| !is_same(Path::new(folder), dir)) {
                    text += &format!("  folder   pinned for another one: {}\n", shown(folder));
                }
                if let Some(signer) = &pin.signer {
                    text += &format!("  signer   {}\n", shown(signer));
                }
            }
        }
        if let Some((origin, is_current)) = &self.origin {
            let other = if *is_current { "" } else { ", whose version was replaced since" };
            text += &format!("  from     {}{other}\n", shown(&origin.source));
        }
        text += &self.granted_line();
        for extra in ShownExtra::all(&self.grants) {
            text += &format!("  extra    {}\n", extra.shown());
        }
        if self.grants.pages != Pages::default() {
            text += &format!("  pages    {}\n", self.grants.pages.name());
        }
        if self.may_change {
            text += &format!("  granted  {CHANGE_LISTS}\n");
        }
        if let Some(seen) =
            self.seen.as_ref().filter(|seen| self.pin.as_ref().is_none_or(|pin| pin.content != seen.content))
        {
            text += &format!("  file     blake3:{}…\n", seen.content.short());
            if let Some(signer) = &seen.signer {
                text += &format!("  signer   {signer}\n");
            }
        }
        match &self.state {
            Ok(()) if self.pin.is_none() => text += &format!("  state    {GOOD}will run when first served{GOOD:#}\n"),
            Ok(()) => text += &format!("  state    {GOOD}runs{GOOD:#}\n"),
            Err(NotRunning::Held(reason)) => {
                text += &format!("  state    {WARNING}held{WARNING:#}: {reason}\n");
                if !reason.stops_service() {
                    text += self.serving_line();
                }
            }
            Err(NotRunning::Refused((reason, _))) => {
                text += &format!("  state    {ERROR}refused{ERROR:#}: failed to {reason}\n");
                text += self.serving_line();
            }
        }
        // A new plugin that runs without approval is not repeated here: `wharf list` shows it.
        if !self.changes.is_empty() && (self.pin.is_some() || self.state.is_err()) {
            if self.pin.is_none() && !in_full {
                text += &self.offers.iter().map(|(kind, names)| format!("  {kind:<8} {names}\n")).collect::<String>();
            } else {
                text += if self.pin.is_some() { "  changes\n" } else { "  offers\n" };
                text += &self.changes.iter().map(Change::to_text).collect::<String>();
            }
        }
        text += &listed("additionally needs", self.additional_needs().into_iter());
        text = wrapped::for_stdout(&text);
        // Commands stay whole, to be copied.
        if let Some(hint) = self.hint(program, dir) {
            text += &format!("  hint     {hint}\n");
        }
        text
    }

    fn to_json(&self, program: &str, dir: &Path) -> Value {
        let pin = self.pin.as_ref().map(|pin| {
            json!({
                "content": format!("blake3:{}", pin.content),
                "surface": format!("blake3:{}", pin.surface),
                "needs": pin.needs,
                "grants": pin.grants,
                "signer": pin.signer,
                "approved": pin.approved,
                "folder": pin.folder,
                "time": humantime::format_rfc3339_seconds(pin.time).to_string(),
            })
        });
        let file = self.seen.as_ref().map(|seen| {
            json!({
                "content": format!("blake3:{}", seen.content),
                "surface": seen.surface.map(|surface| format!("blake3:{surface}")),
                "needs": seen.needs.iter().map(|access| access.name()).collect::<Vec<_>>(),
                "grants": seen.grants.iter().map(|access| access.name()).collect::<Vec<_>>(),
                "signer": seen.signer.as_ref().map(ToString::to_string),
            })
        });
        let (state, code, reason) = match &self.state {
            Ok(()) => ("runs", None, None),
            Err(NotRunning::Held(reason)) => ("held", Some(reason.code()), Some(reason.to_string())),
            Err(NotRunning::Refused((reason, _))) => ("refused", None, Some(reason.clone())),
        };
        json!({
            "plugin": self.id.as_ref(),
            "state": state,
            "code": code,
            "reason": reason,
            "pinned": pin,
            "file": file,
            "origin": self.origin.as_ref().map(|(origin, is_current)| json!({
                "source": origin.source,
                "digest": origin.digest.map(|digest| digest.to_string()),
                "signer": origin.signer,
                "current": is_current,
            })),
            "changes": self.changes.iter().map(Change::to_json).collect::<Vec<_>>(),
            "change-lists": self.may_change,
            "pages": self.grants.pages.name(),
            "extra": ShownExtra::all(&self.grants).map(|extra| extra.to_json()).collect::<Vec<_>>(),
            "warnings": self.warnings,
            "hint": self.hint(program, dir),
        })
    }
}

/// A text of the pin file, which anything of this user may have written: on one line, and not endless.
fn shown(text: &str) -> String {
    line(&bounded(text))
}

/// The last line: how many are in each state. `misnamed`: the files that are refused for their name.
fn counts(found: &[Status], misnamed: usize) -> String {
    let mut states = [
        (0, "run", "runs"),
        (0, "will run when first served", "will run when first served"),
        (0, "are pending approval", "is pending approval"),
        (0, "are revoked", "is revoked"),
        (0, "are held", "is held"),
        (misnamed, "are refused", "is refused"),
    ];
    for status in found {
        let at = match (&status.state, &status.pin) {
            (Ok(()), Some(_)) => 0,
            (Ok(()), None) => 1,
            (Err(_), _) if status.needs_approval() => 2,
            (Err(NotRunning::Held(Reason::Revoked)), _) => 3,
            (Err(NotRunning::Held(_)), _) => 4,
            (Err(NotRunning::Refused(_)), _) => 5,
        };
        states[at].0 += 1;
    }
    let counted = states.iter().filter(|(count, ..)| *count > 0);
    let counted = counted.map(|(count, all, one)| format!("{count} {}", if *count == 1 { one } else { all }));
    format!("{}\n", counted.collect::<Vec<_>>().join(", "))
}

fn listed<'a>(label: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { String::new() } else { format!("  {label:<8} {}\n", names.join(", ")) }
}

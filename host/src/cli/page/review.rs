//! A version that waits for a person, as the person is shown it: as `wharf approve` shows it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::desk::{OperatorDesk, blocking, id, refused};
use super::detail::Named;
use crate::cli::approve::check_configured_pin;
use crate::cli::candidate::Candidate;
use crate::cli::changes::{Change, changes};
use crate::cli::load_file;
use crate::cli::skills::{self, found_in};
use crate::cli::summary::{CHANGE_LISTS, summary};
use crate::cli::survey::choice_in;
use crate::cli::wiring::{lock, lock_failure};
use crate::config::Config;
use crate::pins::{ListedVersion, PinFile, Pins, PluginVersion};
use crate::plugin::{Plugin, PluginId};
use crate::report::Failure;
use crate::skills::FOLDER;
use crate::transport::page::{Answer, Refused};

/// What a decision is about, read at one moment.
pub(super) struct Review {
    pub(super) id: PluginId,
    pub(super) config: std::sync::Arc<Config>,
    pub(super) lock: PinFile,
    pub(super) pins: Pins,
    /// What is known without listing it.
    pub(super) seen: PluginVersion,
    pub(super) found: Found,
}

/// What was found in the file.
pub(super) enum Found {
    /// With what it lists without its grants.
    Listed { version: Box<ListedVersion>, plugin: Option<(Box<Plugin>, Candidate)>, summary: String },
    /// It cannot list anything without its grants.
    NeedsGrants { why: String, candidate: Candidate },
}

/// Shows what there is to decide.
pub(super) async fn show(all: &OperatorDesk, Named { plugin }: Named) -> Answer {
    let review = Review::of(all, &id(&plugin)?).await?;
    // Why it waits for a person, as the log says it.
    let held = all.board.get(&plugin).map(|held| held.reason);
    blocking(move || {
        let mut shown = review.to_json();
        shown["held"] = held.into();
        Ok(shown.to_string())
    })
    .await
}

impl Review {
    /// Reads and lists the file of a plugin, without its grants.
    pub(super) async fn of(all: &OperatorDesk, id: &PluginId) -> Result<Self, Refused> {
        let config = all.desk.config.get();
        let (of_pins, dir) = (config.clone(), all.desk.dir.clone());
        let (lock, pins) = blocking(move || {
            let lock = lock(&of_pins).map_err(refused)?.for_plugins(&dir);
            let pins = lock.read().map_err(|error| refused(lock_failure(error)))?;
            Ok((lock, pins))
        })
        .await?;
        let (own, dir) = (id.clone(), all.desk.dir.clone());
        if id.is_skill() {
            let listed = blocking(move || skill(&own, dir)).await?;
            let (version, summary) = listed;
            let seen = version.version.clone();
            let found = Found::Listed { version: Box::new(version), plugin: None, summary };
            return Ok(Self { id: id.clone(), config, lock, pins, seen, found });
        }
        let settings = config.clone();
        let path = blocking(move || path_of(&settings, &own, dir)).await?;
        let unread = |(reason, hint): load_file::Refused| refused(Failure::new(reason).hint(hint));
        let mut candidate = Candidate::read(&config, &path, id).await.map_err(unread)?;
        check_configured_pin(&config, id, &candidate).map_err(refused)?;
        let sandbox = all.desk.sandbox.get().ok_or_else(|| {
            Refused::new(http::StatusCode::SERVICE_UNAVAILABLE, "look at it: the server has just been started")
        })?;
        let seen = candidate.seen.clone();
        let loaded = candidate.load(&config, sandbox, id, config.grants(id).none()).await;
        let found = match loaded {
            Ok((plugin, version)) => {
                let pinned = pins.get(id).and_then(|pin| lock.surface(pin.surface));
                let summary = summary(&path, None, pinned.as_deref(), &plugin, &version, &config);
                Found::Listed { version: Box::new(version), plugin: Some((Box::new(plugin), candidate)), summary }
            }
            Err(error) if error.is_of_listing() && !seen.grants.is_empty() => {
                Found::NeedsGrants { why: format!("failed to {error}"), candidate }
            }
            Err(error) => return Err(unread(load_file::refused(error, &path))),
        };
        Ok(Self { id: id.clone(), config, lock, pins, seen, found })
    }

    /// A digest of all that a decision depends on besides what the plugin lists: content, signer, grants, and what is
    /// pinned and revoked now.
    pub(super) fn terms(&self) -> String {
        let mut hash = blake3::Hasher::new();
        let mut add = |part: &str| {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        };
        add(self.id.as_ref());
        add(&self.seen.content.to_string());
        add(&self.seen.signer.as_ref().map(ToString::to_string).unwrap_or_default());
        add(if self.config.may_change_lists(&self.id) { "change-lists" } else { "" });
        add(&self.pins.get(&self.id).map(|pin| pin.content.to_string()).unwrap_or_default());
        add(if self.pins.is_revoked(self.seen.content) { "revoked" } else { "" });
        self.seen.granted.iter().for_each(|grant| add(grant));
        hash.finalize().to_hex().to_string()
    }

    /// What it is granted, in words.
    fn granted(&self) -> BTreeSet<&str> {
        let own = self.seen.granted.iter().map(String::as_str);
        own.chain(self.config.may_change_lists(&self.id).then_some(CHANGE_LISTS)).collect()
    }

    /// With what it lists without its grants.
    pub(super) fn to_json(&self) -> Value {
        match &self.found {
            Found::Listed { version, summary, .. } => {
                let pinned = self.pins.get(&self.id).and_then(|pin| self.lock.surface(pin.surface));
                let mut shown = self.shown(version, pinned.as_deref());
                shown["summary"] = anstream::adapter::strip_str(summary).to_string().into();
                shown
            }
            Found::NeedsGrants { why, .. } => json!({
                "plugin": self.id.as_ref(),
                "content": self.seen.content.to_string(),
                "terms": self.terms(),
                "granted": self.granted(),
                "needs_grants": why,
            }),
        }
    }

    /// A version, compared with a text that was pinned or shown before.
    pub(super) fn shown(&self, version: &ListedVersion, old: Option<&str>) -> Value {
        let changes = changes(old, &version.surface_text);
        json!({
            "plugin": self.id.as_ref(),
            "content": self.seen.content.to_string(),
            "terms": self.terms(),
            "surface": version.version.surface.map(|surface| surface.to_string()),
            "signer": self.seen.signer.as_ref().map(ToString::to_string),
            "pinned_signer": self.pins.get(&self.id).and_then(|pin| pin.signer.as_deref()),
            "granted": self.granted(),
            "needs": version.version.needs.iter().map(|need| need.name()).collect::<Vec<_>>(),
            "compared": old.is_some(),
            "revoked": self.pins.is_revoked(self.seen.content),
            "diff": changes.iter().map(Change::to_text).collect::<String>(),
        })
    }
}

/// The file of a plugin, as a server finds it.
fn path_of(config: &Config, id: &PluginId, dir: PathBuf) -> Result<PathBuf, Refused> {
    let files = choice_in(config, &dir).map_err(refused)?;
    let gone = || Refused::new(http::StatusCode::NOT_FOUND, "find its file: it is not in the folder any more");
    files.get(id).map(Into::into).ok_or_else(gone)
}

/// A skill, with its summary.
fn skill(id: &PluginId, dir: PathBuf) -> Result<(ListedVersion, String), Refused> {
    let (found, _) = found_in(&dir.join(FOLDER));
    let gone = || Refused::new(http::StatusCode::NOT_FOUND, "find its folder: it is not there any more");
    let skill = found.into_iter().find(|skill| skill.id == *id).ok_or_else(gone)?;
    let version = skill.version.as_ref().map_err(|error| refused(skills::refusal(error.clone())))?;
    let summary = skills::summary(&skill, version, None);
    Ok((version.listed.clone(), summary))
}

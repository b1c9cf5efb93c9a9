//! Approves and revokes versions, as `wharf approve` and `wharf revoke` do: only what the person was shown.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::desk::{OperatorDesk, blocking, id, outdated, refused};
use super::review::{Found, Review};
use crate::audit::{Event, Record};
use crate::cli::approve::{contents_to_revoke, not_revoked};
use crate::cli::load_file;
use crate::cli::wiring::{lock, lock_failure};
use crate::pins::ListedVersion;
use crate::plugin::{Digest, PluginId};
use crate::report::Failure;
use crate::transport::page::{Answer, Refused};

/// What a person agreed to, as it was shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Approval {
    plugin: String,
    /// The digest of its file.
    content: String,
    /// Of [`Review::terms`].
    terms: String,
    /// The digest of what it lists; `None`: it could not be listed without its grants, and may use them for that.
    surface: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    plugin: String,
    /// The digest of the version that was shown.
    content: String,
}

/// Approves a version. If it lists something else with its grants than what was shown, that is shown in place of an
/// answer, with the status 409.
pub(super) async fn approve(all: &OperatorDesk, approval: Approval) -> Answer {
    let id = id(&approval.plugin)?;
    all.admit()?;
    let review = Review::of(all, &id).await?;
    if review.seen.content.to_string() != approval.content {
        let now = review.seen.content.short();
        return Err(outdated(format!("approve it: since it was shown, its file was replaced by blake3:{now}…")));
    }
    if review.terms() != approval.terms {
        let error =
            "approve it: since it was shown, its signature, its grants, or what is pinned or revoked have changed";
        return Err(outdated(error));
    }
    let (review, version) = with_grants(all, review).await?;
    let surface = version.version.surface.map(|surface| surface.to_string());
    if surface != approval.surface {
        return Err(blocking(move || Ok(other_surface(&review, &version))).await?);
    }
    let Review { lock, pins, .. } = review;
    let (own, content) = (id.clone(), version.version.content);
    blocking(move || {
        let written = lock.approve(&own, &version, &pins).map_err(|error| refused(lock_failure(error)))?;
        written.map_err(|change| outdated(format!("approve it: since it was shown, {change}")))
    })
    .await?;
    record(all, Event::Approve, &id, content).await?;
    Ok(json!({ "approved": content.to_string() }).to_string())
}

/// The version with what it lists with its grants, which the person lets it use.
async fn with_grants(all: &OperatorDesk, mut review: Review) -> Result<(Review, ListedVersion), Refused> {
    let (grants, limits) = (review.config.grants(&review.id), review.config.limits(&review.id));
    let failed = |error, candidate: &crate::cli::candidate::Candidate| {
        let (reason, hint) = load_file::refused(error, &candidate.path);
        refused(Failure::new(reason).hint(hint))
    };
    let version = match &mut review.found {
        Found::Listed { version, plugin: None, .. } => (**version).clone(),
        Found::Listed { version, .. } if review.seen.grants.is_empty() => (**version).clone(),
        Found::Listed { plugin: Some((plugin, candidate)), .. } => {
            let granted = plugin.granted(limits, grants).await.map_err(|error| failed(error, candidate))?;
            candidate.record_surface(&granted)
        }
        Found::NeedsGrants { candidate, .. } => {
            let sandbox = all.desk.sandbox.get().ok_or_else(|| outdated("approve it: the server is starting"))?;
            let loaded = candidate.load(&review.config, sandbox, &review.id, grants).await;
            loaded.map_err(|error| failed(error, candidate))?.1
        }
    };
    Ok((review, version))
}

/// What it lists with its grants, compared with what was shown.
fn other_surface(review: &Review, version: &ListedVersion) -> Refused {
    let before = match &review.found {
        Found::Listed { version, .. } => Some(version.surface_text.as_str()),
        Found::NeedsGrants { .. } => None,
    };
    let mut shown = review.shown(version, before);
    shown["with_grants"] = true.into();
    let error = "approve it as it was shown: with its grants, what it lists is different";
    Refused { shown: Some(shown.to_string()), ..outdated(error) }
}

/// Revokes what is pinned, and what is in the folder if it would run.
pub(super) async fn revoke(all: &OperatorDesk, revocation: Revocation) -> Answer {
    let id = id(&revocation.plugin)?;
    all.admit()?;
    let config = all.desk.config.get();
    let of_pins = config.clone();
    let (file, pins) = blocking(move || {
        let file = Arc::new(lock(&of_pins).map_err(refused)?);
        let pins = file.read().map_err(|error| refused(lock_failure(error)))?;
        Ok((file, pins))
    })
    .await?;
    let contents = contents_to_revoke(&config, &id, Some(&all.desk.dir), &pins).await;
    if !contents.iter().any(|content| content.to_string() == revocation.content) {
        return Err(outdated("revoke it: since it was shown, another version has taken its place"));
    }
    for content in &contents {
        let (file, own, content) = (file.clone(), id.clone(), *content);
        blocking(move || file.update(|pins| pins.revoke(&own, content)).map_err(|error| refused(not_revoked(error))))
            .await?;
        record(all, Event::Revoke, &id, content).await?;
    }
    let contents: Vec<String> = contents.iter().map(ToString::to_string).collect();
    Ok(json!({ "revoked": contents }).to_string())
}

/// Records the decision of the operator.
async fn record(all: &OperatorDesk, event: Event, id: &PluginId, content: Digest) -> Result<(), Refused> {
    let record = Record {
        plugin: Some(id.to_string()),
        content: Some(*content.as_bytes()),
        by: Some("operator"),
        via: Some("page"),
        ..Record::new(event)
    };
    all.record(&record, id.as_ref()).await
}

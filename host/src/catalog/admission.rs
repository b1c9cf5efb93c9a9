//! Admission of a file: read it, verify its signature, list it, check it against the pins, pin it.
//!
//! A version that is not pinned is listed without its plugin's grants.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::PluginSettings;
use crate::pins::{AdmittedAs, Decision, Guard, ListedVersion, PluginVersion, Reason};
use crate::plugin::{
    Digest, Embedded, Isolation, Limits, LoadError, Plugin, PluginId, Provider as _, Sandbox, StoredSurface,
    could_be_plugin, read_component,
};

/// A plugin that was loaded and listed. It must not serve before it is pinned.
pub struct ListedPlugin {
    plugin: Plugin,
    version: ListedVersion,
}

/// A plugin that may serve, and is pinned.
pub struct Admission {
    pub plugin: Plugin,
    pub version: PluginVersion,
    pub decision: Decision,
}

/// What a plugin offers, known before its code is compiled. It may serve without being pinned first.
pub struct KnownPlugin {
    pub listing: StoredSurface,
    pub version: PluginVersion,
}

/// Why a file is not served.
#[derive(Debug)]
pub enum NotServed {
    Refused(LoadError),
    Held(Box<(PluginVersion, Decision)>),
}

impl From<LoadError> for NotServed {
    fn from(error: LoadError) -> Self {
        Self::Refused(error)
    }
}

/// What was found in a plugin file.
pub enum Loaded {
    Listed(ListedPlugin),
    /// Its code has to be compiled first; with what is known of it and may be served meanwhile.
    Uncompiled(Option<KnownPlugin>),
    /// It is the version in service.
    Unchanged,
}

/// What a load may do, and how far it is.
#[derive(Clone)]
pub struct LoadStage {
    compiles: bool,
    listing_since: Arc<OnceLock<Instant>>,
    changed: Arc<Notify>,
}

impl LoadStage {
    /// Code that is not in the cache is compiled only if `compiles`. `changed` is notified when the component starts to
    /// list.
    pub fn new(compiles: bool, changed: Arc<Notify>) -> Self {
        Self { compiles, listing_since: Arc::default(), changed }
    }

    pub(super) fn compiles(&self) -> bool {
        self.compiles
    }

    /// Since when code of the component runs.
    pub(super) fn listing_since(&self) -> Option<Instant> {
        self.listing_since.get().copied()
    }

    fn start_listing(&self) {
        self.listing_since.get_or_init(Instant::now);
        self.changed.notify_one();
    }
}

/// Loads and lists a plugin file, unless its digest is `serving`, the one in service. `stage` says whether it may be
/// compiled.
///
/// # Errors
/// If it is not a valid plugin, or is held.
pub async fn load_plugin(
    sandbox: &Arc<Sandbox>,
    guard: &Arc<Guard>,
    path: &Path,
    id: &PluginId,
    settings: &PluginSettings,
    serving: Option<Digest>,
    stage: &LoadStage,
) -> Result<Loaded, NotServed> {
    let compiles = stage.compiles;
    let component = read_component(path).await?;
    let content = Digest::of(&component);
    if serving == Some(content) {
        return Ok(Loaded::Unchanged);
    }
    let (signatures, file) = (guard.signatures(), path.to_owned());
    let verified = tokio::task::spawn_blocking(move || {
        // One that may be compiled is not served before.
        let embedded = (!compiles).then(|| Embedded::of(&component));
        (signatures.check(&file, &component), embedded, component)
    });
    let (signer, embedded, component) = verified.await.map_err(|error| LoadError::Host(error.to_string()))?;
    let signer = match signer {
        Ok(signer) => signer,
        Err(error) => return Err(not_served(component, &settings.limits, error.into()).await),
    };
    let mut version = PluginVersion::unlisted(content, signer, &settings.grants);
    let held = |version: &PluginVersion, reason: Reason| held(id, version, reason);
    let with_grants = match guard.may_list(id, &version).await {
        Ok(with_grants) => with_grants,
        Err(reason) => return Err(not_served(component, &settings.limits, held(&version, reason)).await),
    };
    if let Some(embedded) = embedded
        // A process takes long to start too.
        && (settings.limits.isolation == Isolation::Process || !sandbox.has_code(content).await)
    {
        // Without its grants it may list something else.
        if !with_grants {
            return Ok(Loaded::Uncompiled(None));
        }
        let known = sandbox.stored_surface(id, content, &settings.grants, embedded).await;
        let known = known.map(|listing| {
            version.set_surface(&listing.surface);
            KnownPlugin { listing, version }
        });
        return Ok(Loaded::Uncompiled(match known {
            Some(known) if guard.may_serve_unpinned(id, &known.version, known.listing.is_embedded).await => Some(known),
            _ => None,
        }));
    }
    let grants = if with_grants { settings.grants.clone() } else { settings.grants.none() };
    let (limits, stage) = (settings.limits.clone(), stage.clone());
    let loading = sandbox.load_watched(id.clone(), component, limits.clone(), grants, move || stage.start_listing());
    let mut plugin = match loading.await {
        Ok(plugin) => plugin,
        Err(error) if error.is_of_listing() && !with_grants && !version.grants.is_empty() => {
            return Err(held(&version, Reason::ListingNeedsGrants));
        }
        Err(error) => return Err(error.into()),
    };
    version.needs = plugin.needs().clone();
    let mut surface_text = version.set_surface(plugin.surface());
    if !with_grants && !version.grants.is_empty() {
        guard.may_list(id, &version).await.map_err(|reason| held(&version, reason))?;
        // Its surface without grants equals the pinned one. The one with grants is checked by `admit`.
        plugin = plugin.granted(limits, settings.grants.clone()).await?;
        surface_text = version.set_surface(plugin.surface());
    }
    Ok(Loaded::Listed(ListedPlugin { plugin, version: ListedVersion { version, surface_text, path: path.to_owned() } }))
}

/// Pins the plugins that may serve, in one write that is on disk when this returns. One result for each
/// plugin, in order.
pub async fn admit(guard: &Arc<Guard>, listed: Vec<ListedPlugin>) -> Vec<Result<Admission, NotServed>> {
    let versions = listed.iter().map(|listed| (listed.plugin.id().clone(), listed.version.clone()));
    let outcomes = guard.admit(versions.collect()).await;
    let admitted = |(ListedPlugin { plugin, version: ListedVersion { version, .. } }, outcome): (
        ListedPlugin,
        Result<AdmittedAs, Reason>,
    )| {
        let outcome = outcome.map_err(|reason| held(plugin.id(), &version, reason))?;
        let decision = Decision::new(plugin.id().clone(), &version, Ok(outcome));
        Ok(Admission { plugin, version, decision })
    };
    listed.into_iter().zip(outcomes).map(admitted).collect()
}

/// Replaces the reason if the file cannot be a plugin at all: no signature or approval would let it run.
async fn not_served(component: Vec<u8>, limits: &Limits, reason: NotServed) -> NotServed {
    let limits = limits.clone();
    match tokio::task::spawn_blocking(move || could_be_plugin(&component, &limits)).await {
        Ok(Ok(())) => reason,
        Ok(Err(error)) => error.into(),
        Err(error) => LoadError::Host(error.to_string()).into(),
    }
}

fn held(id: &PluginId, version: &PluginVersion, reason: Reason) -> NotServed {
    NotServed::Held(Box::new((version.clone(), Decision::new(id.clone(), version, Err(reason)))))
}

//! Admission of a file: read, check its signature, list it, check it against the pins, pin it.
//!
//! A version that is not pinned is listed without its plugin's grants.

use std::path::Path;
use std::sync::Arc;

use super::PluginSettings;
use crate::pins::{Decision, Guard, Outcome, Reason, Seen, Version};
use crate::plugin::{
    Digest, Limits, LoadError, Plugin, PluginId, Provider as _, Sandbox, could_be_plugin, read_component,
};

/// A plugin that has been listed. It may not serve before it is pinned.
pub struct Asked {
    plugin: Plugin,
    version: Version,
}

/// A plugin that may serve.
pub struct Admission {
    pub plugin: Plugin,
    pub seen: Seen,
    pub decision: Decision,
}

/// Why a file is not served.
#[derive(Debug)]
pub enum Denial {
    Refused(LoadError),
    /// Pending approval.
    Held(Box<(Seen, Decision)>),
}

impl From<LoadError> for Denial {
    fn from(error: LoadError) -> Self {
        Self::Refused(error)
    }
}

/// Loads a file. `None`: its bytes are those that serve already.
///
/// # Errors
/// If it is no plugin, or one that may not run.
pub async fn ask(
    sandbox: &Arc<Sandbox>,
    guard: &Arc<Guard>,
    path: &Path,
    id: &PluginId,
    settings: &PluginSettings,
    serving: Option<Digest>,
) -> Result<Option<Asked>, Denial> {
    let component = read_component(path).await?;
    let content = Digest::of(&component);
    if serving == Some(content) {
        return Ok(None);
    }
    let (signatures, file) = (guard.signatures(), path.to_owned());
    let verified = tokio::task::spawn_blocking(move || (signatures.check(&file, &component), component)).await;
    let (signer, component) = verified.map_err(|error| LoadError::Host(error.to_string()))?;
    let signer = match signer {
        Ok(signer) => signer,
        Err(error) => return Err(denial(component, &settings.limits, error.into()).await),
    };
    let mut seen = Seen { content, signer, grants: settings.grants.kinds(), surface: None, needs: Default::default() };
    let held = |seen: &Seen, reason: Reason| held(id, seen, reason);
    let trusted = match guard.may_ask(id, &seen).await {
        Ok(trusted) => trusted,
        Err(reason) => return Err(denial(component, &settings.limits, held(&seen, reason)).await),
    };
    let grants = if trusted { settings.grants.clone() } else { settings.grants.none() };
    let limits = settings.limits.clone();
    let mut plugin = match sandbox.load(id.clone(), component, limits.clone(), grants).await {
        Ok(plugin) => plugin,
        Err(error) if error.is_of_listing() && !trusted && !seen.grants.is_empty() => {
            return Err(held(&seen, Reason::Silent));
        }
        Err(error) => return Err(error.into()),
    };
    seen.needs = plugin.needs().clone();
    let mut words = plugin.surface().canonical();
    seen.surface = Some(Digest::of(words.as_bytes()));
    if !trusted && !seen.grants.is_empty() {
        guard.may_ask(id, &seen).await.map_err(|reason| held(&seen, reason))?;
        // Its surface equals the pinned one; with its grants it must be the same.
        plugin = plugin.granted(limits, settings.grants.clone()).await?;
        words = plugin.surface().canonical();
        seen.surface = Some(Digest::of(words.as_bytes()));
    }
    Ok(Some(Asked { plugin, version: Version { seen, words } }))
}

/// Pins those that may run, together: all that is pinned is on the disk when this returns. Of each
/// of them, the plugin or why it is held.
pub async fn admit(guard: &Arc<Guard>, asked: Vec<Asked>) -> Vec<Result<Admission, Denial>> {
    let versions = asked.iter().map(|asked| (asked.plugin.id().clone(), asked.version.clone()));
    let outcomes = guard.admit(versions.collect()).await;
    let admitted = |(Asked { plugin, version: Version { seen, .. } }, outcome): (Asked, Result<Outcome, Reason>)| {
        let outcome = outcome.map_err(|reason| held(plugin.id(), &seen, reason))?;
        let decision = Decision::new(plugin.id().clone(), &seen, Ok(outcome));
        Ok(Admission { plugin, seen, decision })
    };
    asked.into_iter().zip(outcomes).map(admitted).collect()
}

/// Why a file is not served. A file that cannot be a plugin is reported as such first: no signature or
/// approval would let it run.
async fn denial(component: Vec<u8>, limits: &Limits, denial: Denial) -> Denial {
    let limits = limits.clone();
    match tokio::task::spawn_blocking(move || could_be_plugin(&component, &limits)).await {
        Ok(Ok(())) => denial,
        Ok(Err(error)) => error.into(),
        Err(error) => LoadError::Host(error.to_string()).into(),
    }
}

fn held(id: &PluginId, seen: &Seen, reason: Reason) -> Denial {
    Denial::Held(Box::new((seen.clone(), Decision::new(id.clone(), seen, Err(reason)))))
}

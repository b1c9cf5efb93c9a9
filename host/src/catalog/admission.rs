//! From a file to a plugin that may serve: read, its signature checked, held against what is
//! pinned, and asked what it offers.
//!
//! A version that nobody has seen before does not get its plugin's grants to be asked.

use std::path::Path;
use std::sync::Arc;

use super::PluginSettings;
use crate::pins::{Decision, Guard, Reason, Seen, Version};
use crate::plugin::{Digest, LoadError, Plugin, PluginId, Provider as _, Sandbox, read_component};

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
    /// Until a person has decided.
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
pub async fn admit(
    sandbox: &Arc<Sandbox>,
    guard: &Arc<Guard>,
    path: &Path,
    id: &PluginId,
    settings: &PluginSettings,
    serving: Option<Digest>,
) -> Result<Option<Admission>, Denial> {
    let component = read_component(path).await?;
    let content = Digest::of(&component);
    if serving == Some(content) {
        return Ok(None);
    }
    let (signatures, file) = (guard.signatures(), path.to_owned());
    let verified = tokio::task::spawn_blocking(move || (signatures.check(&file, &component), component)).await;
    let (signer, component) = verified.map_err(|error| LoadError::Host(error.to_string()))?;
    let mut seen =
        Seen { content, signer: signer?, grants: settings.grants.kinds(), surface: None, needs: Default::default() };
    let held = |seen: &Seen, reason: Reason| {
        Denial::Held(Box::new((seen.clone(), Decision::new(id.clone(), seen, Err(reason)))))
    };
    let trusted = guard.may_ask(id, &seen).await.map_err(|reason| held(&seen, reason))?;
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
        // It says what the pinned version said; with its grants it must say that too.
        plugin = plugin.granted(limits, settings.grants.clone()).await?;
        words = plugin.surface().canonical();
        seen.surface = Some(Digest::of(words.as_bytes()));
    }
    match guard.admit(id, Version { seen: seen.clone(), words }).await {
        Ok(outcome) => {
            let decision = Decision::new(id.clone(), &seen, Ok(outcome));
            Ok(Some(Admission { plugin, seen, decision }))
        }
        Err(reason) => Err(held(&seen, reason)),
    }
}

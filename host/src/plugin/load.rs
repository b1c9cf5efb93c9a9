//! Loads a plugin from a component's bytes: check, compile, link, list.
//!
//! Reads no file (`file` does); public names are assigned in the catalog.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::component::compile;
use super::component::engine::EngineKind;
use super::component::inspect::not_for_another_host;
use super::component::prescan::prescan;
use super::component::proposals::engine_kind;
use super::component::sections::custom_section;
use super::dialects::linked::Linked;
use super::error::LoadError;
use super::id::{Digest, PluginId};
use super::instance::call::PreparedComponent;
use super::limits::{Isolation, Limits};
use super::loaded::Plugin;
use super::policy::grants::Grants;
use super::process::{Remote, Source};
use super::sandbox::Sandbox;
use super::stored_listing::StoredListing;
use super::surface::ListingWarning;
use crate::skills::SECTION;

impl Sandbox {
    /// Makes a plugin from a component's bytes: compiles it (or finds it in the cache), links
    /// it and calls its list functions. May be called from any runtime.
    ///
    /// # Errors
    /// Why these bytes are not a plugin.
    pub async fn load(
        self: &Arc<Self>,
        id: PluginId,
        component: impl Into<Arc<Vec<u8>>>,
        limits: Limits,
        grants: Grants,
    ) -> Result<Plugin, LoadError> {
        self.load_watched(id, component, limits, grants, || {}).await
    }

    /// As [`Sandbox::load`]; calls `listing` when the code is there, and the component is about to list.
    ///
    /// # Errors
    /// As [`Sandbox::load`].
    pub async fn load_watched(
        self: &Arc<Self>,
        id: PluginId,
        component: impl Into<Arc<Vec<u8>>>,
        limits: Limits,
        grants: Grants,
        listing: impl FnOnce() + Send + 'static,
    ) -> Result<Plugin, LoadError> {
        let (sandbox, component) = (self.clone(), component.into());
        // Dropped, it ends the compiler.
        let loading = AbortOnDropHandle::new(self.runtime.guests().spawn(async move {
            let digest = Digest::of(&component);
            let (bytes, limit) = (component.clone(), limits.clone());
            let (plugin, runtime) = (id.clone(), sandbox.runtime.clone());
            let check = move || {
                prescan(&bytes, &limit).and_then(|()| not_for_another_host(&bytes))?;
                let skills = runtime.skills.read(custom_section(&bytes, SECTION), &plugin);
                Ok::<_, LoadError>((engine_kind(&bytes), skills))
            };
            let (kind, (skills, left_out)) = compile::blocking(check).await??;
            let own = sandbox.compilation.kind();
            // A command that records has to see what the plugin asks.
            let is_recorded = sandbox.runtime.recorder.is_of_command();
            let is_apart = match (kind, own) {
                (EngineKind::Asynchronous, EngineKind::Synchronous) if is_recorded => {
                    return Err(LoadError::NotRecorded);
                }
                (EngineKind::Asynchronous, EngineKind::Synchronous) => true,
                _ => limits.isolation == Isolation::Process && !is_recorded,
            };
            let linked = if is_apart {
                let source = Source { sandbox: sandbox.clone(), plugin: id.clone(), digest, component, kind };
                let (remote, needs) = Remote::start(source, &grants).await?;
                Arc::new(Linked::elsewhere(kind, Box::new(remote), needs.into_iter().collect()))
            } else {
                let linked = sandbox.in_use.get_or_make(digest, async {
                    let code = sandbox.compilation.code(component.clone(), digest).await?;
                    Linked::new(&sandbox.linker, code, &component)
                });
                let linked = linked.await?;
                drop(component);
                linked
            };
            linked.fits(&limits)?;
            let stored = StoredListing::new(&sandbox, digest, &grants);
            let prepared =
                PreparedComponent::new(sandbox.runtime.clone(), id, digest, limits, grants, linked.pre().cloned());
            // Before the listing, whose deadline is short.
            prepared.granted.open_folders().await;
            listing();
            let mut plugin = Plugin::listed(prepared, linked, skills, Some(stored)).await?;
            plugin.warnings.extend(left_out.map(ListingWarning::Skills));
            Ok(plugin)
        }));
        match loading.await {
            Ok(loaded) => loaded,
            Err(error) => Err(LoadError::Host(error.to_string())),
        }
    }
}

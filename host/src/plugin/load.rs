//! Loads a plugin from a component's bytes: check, compile, link, list.
//!
//! Reads no file (`file` does); public names are assigned in the catalog.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::component::compile;
use super::component::inspect::not_for_another_host;
use super::component::prescan::prescan;
use super::component::sections::custom_section;
use super::dialects::linked::Linked;
use super::error::LoadError;
use super::id::{Digest, PluginId};
use super::instance::call::PreparedComponent;
use super::limits::{Isolation, Limits};
use super::loaded::Plugin;
use super::policy::grants::Grants;
use super::process::Remote;
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
                Ok::<_, LoadError>(runtime.skills.read(custom_section(&bytes, SECTION), &plugin))
            };
            let (skills, left_out) = compile::blocking(check).await??;
            // A command that records has to see what the plugin asks.
            let is_recorded = sandbox.runtime.recorder.is_of_command();
            let linked = match limits.isolation {
                Isolation::Process if !is_recorded => {
                    let remote = Remote::start(sandbox.clone(), id.clone(), digest, component.clone(), &grants);
                    let (remote, needs) = remote.await?;
                    Arc::new(Linked::elsewhere(Box::new(remote), needs.into_iter().collect()))
                }
                Isolation::Process | Isolation::Shared => {
                    let linked = sandbox.in_use.get_or_make(digest, async {
                        let code = sandbox.compilation.code(component.clone(), digest).await?;
                        Linked::new(&sandbox.linker, code, &component)
                    });
                    linked.await?
                }
            };
            drop(component);
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

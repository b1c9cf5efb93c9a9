//! The inspection of one file before it may run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load_file::{Refused, load_file, refused};
use super::wiring::plugin_settings;
use crate::catalog::PluginSettings;
use crate::config::Config;
use crate::pins::{ListedVersion, PluginVersion};
use crate::plugin::{
    Digest, Grants, LoadError, Plugin, PluginId, Provider as _, Sandbox, could_be_plugin, read_component,
};

/// A file, and what is known about it before it may run.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) seen: PluginVersion,
}

impl Candidate {
    /// Reads a file and checks its signature.
    pub(super) async fn read(config: &Config, path: &Path, id: &PluginId) -> Result<Self, Refused> {
        let refused = |error: LoadError| refused(error, path);
        let component = read_component(path).await.map_err(refused)?;
        could_be_plugin(&component, &config.limits(id)).map_err(refused)?;
        let signer = config.signatures().check(path, &component).map_err(refused)?;
        let seen = PluginVersion::unlisted(Digest::of(&component), signer, &config.grants(id));
        Ok(Self { path: path.to_owned(), seen })
    }

    /// Loads it with these grants and records its surface.
    pub(super) async fn load(
        &mut self,
        config: &Config,
        sandbox: &Arc<Sandbox>,
        id: &PluginId,
        grants: Grants,
    ) -> Result<(Plugin, ListedVersion), LoadError> {
        let settings = PluginSettings { grants, ..plugin_settings(config, id) };
        let plugin = load_file(sandbox, &self.path, id, settings).await?;
        if *plugin.digest() != self.seen.content {
            return Err(LoadError::Changed);
        }
        let version = self.record_surface(&plugin);
        Ok((plugin, version))
    }

    /// Records the surface of a plugin loaded from this file.
    pub(super) fn record_surface(&mut self, plugin: &Plugin) -> ListedVersion {
        let surface_text = self.seen.set_surface(plugin.surface());
        self.seen.needs = plugin.needs().clone();
        ListedVersion { version: self.seen.clone(), surface_text, path: self.path.clone() }
    }
}

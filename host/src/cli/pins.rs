//! Pins as the commands use them, and the inspection of one file without its grants.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::http::is_remote;
use super::local::{Refused, load_file, refused};
use super::serve::plugin_settings;
use crate::catalog::PluginSettings;
use crate::config::{self, Config};
use crate::pins::{Guard, ListedVersion, PinFile, PinFileError, PluginVersion, Trust};
use crate::plugin::{
    Digest, Grants, LoadError, Plugin, PluginId, Provider as _, Sandbox, could_be_plugin, read_component,
};
use crate::report::Failure;

/// The guard of a server with that configuration.
pub(super) fn guard(config: impl Fn() -> Arc<Config> + Clone + Send + Sync + 'static, trust: Trust) -> Guard {
    let signatures = config.clone();
    let lock = config::base().map(|base| PinFile::new(base.state));
    Guard::new(lock, move |id| config().rules(id, trust), move || signatures().signatures())
}

/// As [`guard`], but read-only. It does not know the address of a server that was started with `--http`.
pub(super) fn read_only_guard(config: &Arc<Config>) -> Guard {
    let shared = config.clone();
    guard(move || shared.clone(), config.trust(is_remote(config))).read_only()
}

/// The pin file.
pub(super) fn lock() -> Result<PinFile, Failure> {
    let base = config::base().ok_or_else(|| Failure::usage("find the pin file: no home folder"))?;
    Ok(PinFile::new(base.state))
}

pub(super) fn lock_failure(error: PinFileError) -> Failure {
    Failure::new(error.to_string()).hint(error.hint)
}

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
        let surface_text = plugin.surface().canonical();
        self.seen.surface = Some(Digest::of(surface_text.as_bytes()));
        self.seen.needs = plugin.needs().clone();
        ListedVersion { version: self.seen.clone(), surface_text }
    }
}

//! What a configuration means for a server, for all commands that look at one or run one.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wharf_report::ShowPath as _;

use super::shared;
use crate::catalog::{Naming, PluginSettings};
use crate::config::{self, Config, NamesConfig};
use crate::os::lock::lock as file_lock;
use crate::os::private::{self, OpenMode};
use crate::pins::{Guard, PinFile, PinFileError, Trust};
use crate::plugin::PluginId;
use crate::report::Failure;
use crate::server::{DISCOVERY_ID, PROPOSALS_ID, Settings};
use crate::transport::http::Address;

/// Open files besides connections: about 40 of the host, and those that plugins open.
const OWN_FILES: u64 = 128;

/// The configured settings of a plugin.
pub(super) fn plugin_settings(config: &Config, id: &PluginId) -> PluginSettings {
    let naming = match config.names(id) {
        Some(NamesConfig::Wassette) => Naming::Long,
        None if config.prefix(id) => Naming::Prefixed,
        None => Naming::Plain,
    };
    PluginSettings { limits: config.limits(id), grants: config.grants(id), naming }
}

/// The settings of a server, without what it serves over.
///
/// # Errors
/// If its store cannot be reached as the configuration says.
pub(super) fn server_settings(config: &Config) -> Result<Settings, Failure> {
    Ok(Settings {
        name: config.server.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        title: config.server.title.clone(),
        description: config.server.description.clone(),
        instructions: config.server.instructions.clone(),
        page_size: config.server.page_size,
        first_list: config.server.first_list,
        discovery: config.server.discovery,
        proposals: if config.server.proposals { shared::proposals(config)? } else { None },
        approvals: shared::approvals(config)?,
        ..Settings::default()
    })
}

/// Whether the server's own tools have the name of the plugin.
pub(super) fn is_reserved(config: &Config, id: &PluginId) -> bool {
    config.server.discovery && id.as_ref() == DISCOVERY_ID || config.server.proposals && id.as_ref() == PROPOSALS_ID
}

/// The guard of a server with that configuration.
///
/// # Errors
/// As [`lock`].
pub(super) fn guard(
    config: impl Fn() -> Arc<Config> + Clone + Send + Sync + 'static,
    trust: Trust,
) -> Result<Guard, Failure> {
    let (lock, signatures) = (shared::pins(&config())?, config.clone());
    Ok(Guard::new(lock, move |id| config().rules(id, trust), move || signatures().signatures()))
}

/// As [`guard`], but read-only. It does not know the address of a server that was started with `--http`.
///
/// # Errors
/// As [`lock`].
pub(super) fn read_only_guard(config: &Arc<Config>) -> Result<Guard, Failure> {
    let shared = config.clone();
    Ok(guard(move || shared.clone(), config.trust(is_remote(config)))?.read_only())
}

/// The pin file.
///
/// # Errors
/// If there is no home folder, or the store for several nodes cannot be reached as the configuration says.
pub(super) fn lock(config: &Config) -> Result<PinFile, Failure> {
    shared::pins(config)?.ok_or_else(|| Failure::usage("find the pin file: no home folder"))
}

pub(super) fn lock_failure(error: PinFileError) -> Failure {
    Failure::new(error.to_string()).hint(error.hint)
}

/// How long a command waits for others that change the same file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets no other command of this user change what the lock file of that name in the state folder stands for, until the
/// file is dropped. `what` is that.
pub(super) fn lock_of_state(name: &str, what: &str) -> Result<Option<File>, Failure> {
    let Some(base) = config::base() else { return Ok(None) };
    let path = base.state.join(name);
    let failed = |error: io::Error| Failure::new(format!("lock {what}: {error}: {}", path.shown()));
    match private::create_folder(&base.state) {
        // Without a home, as in an image, nobody else is there either.
        Err(error) if matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
            return Ok(None);
        }
        created => created.map_err(failed)?,
    }
    let (file, _) = private::open(&path, OpenMode::Lock).map_err(|error| failed(error.into()))?;
    file_lock(&file, LOCK_TIMEOUT).map_err(failed)?;
    Ok(Some(file))
}

/// Whether the configured address is not loopback.
pub(super) fn is_remote(config: &Config) -> bool {
    let address = config.server.http.address.as_deref().map(str::parse);
    matches!(address, Some(Ok(Address::Tcp(address))) if !address.ip().to_canonical().is_loopback())
}

/// Open files of a server with so many connections.
pub(super) fn needed_files(connections: usize) -> u64 {
    connections as u64 + OWN_FILES
}

/// Whether a path has the name of a component.
pub(super) fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("wasm"))
}

//! What a command that examines all files of a folder without a server needs: the files, and what decides
//! about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wharf_report::{ShowPath as _, warning};

use super::absent;
use super::folder::plugin_folder;
use super::options::Options;
use super::wiring::{lock, lock_failure};
use crate::audit::Audit;
use crate::catalog::{Ignored, MAX_NAMED, RefusedFile, misnamed_files, plugin_files};
use crate::config::Config;
use crate::pins::{PinFile, Pins};
use crate::plugin::{PluginId, Sandbox};
use crate::report::{self, Failure};

/// A folder of plugins, with the configuration and the pins.
pub(super) struct Survey {
    pub(super) config: Arc<Config>,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) lock: PinFile,
    pub(super) pins: Pins,
    pub(super) dir: PathBuf,
    pub(super) files: BTreeMap<PluginId, PathBuf>,
}

impl Survey {
    /// Reads the folder, or the user's default folder. Settings of names that are similar to those of its
    /// plugins are reported on stderr.
    ///
    /// # Errors
    /// If the folder, the configuration or the pins cannot be read.
    pub(super) async fn open(options: &Options, dir: Option<PathBuf>) -> Result<Self, Failure> {
        let config = Arc::new(options.config()?);
        let dir = plugin_folder(options, dir)?;
        let files = files_of(&dir)?;
        let lock = lock()?.for_plugins(&dir);
        let pins = lock.read().map_err(lock_failure)?;
        let sandbox = options.sandbox(&config, std::slice::from_ref(&dir), Audit::default()).await?;
        absent::warnings(&config, &dir).iter().for_each(|absent| warning(&absent.text));
        Ok(Self { config, sandbox, lock, pins, dir, files })
    }
}

/// Reports on stderr the files of a folder that are not loaded for their name; returns whether there are any.
pub(super) fn report_misnamed(dir: &Path) -> bool {
    let found = misnamed_files(dir).unwrap_or_default();
    for (path, reason) in found.iter().take(MAX_NAMED) {
        report::refusal(&RefusedFile::of_ignored(path.clone(), reason));
    }
    if let Some(more) = found.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        report::refusal(&RefusedFile::of_ignored(dir.to_owned(), &Ignored::More(more)));
    }
    !found.is_empty()
}

/// The plugins of a folder, as a server finds them.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn files_of(dir: &Path) -> Result<BTreeMap<PluginId, PathBuf>, Failure> {
    plugin_files(dir).map_err(|error| Failure::usage(format!("read the plugin folder: {error}: {}", dir.shown())))
}

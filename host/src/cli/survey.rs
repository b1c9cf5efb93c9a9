//! What a command that examines all files of a folder without a server needs: the files, and what decides
//! about them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wharf_report::{ShowPath as _, warning};

use super::absent;
use super::folder::plugin_folder;
use super::left_behind::left_behind;
use super::options::Options;
use super::wiring::{is_reserved, lock, lock_failure, read_only_guard};
use crate::audit::Audit;
use crate::catalog::{Choice, Ignored, MAX_NAMED, RefusedFile};
use crate::config::Config;
use crate::pins::{PinFile, Pins};
use crate::plugin::Sandbox;
use crate::report::{self, Failure};

/// A folder of plugins, with the configuration and the pins.
pub(super) struct Survey {
    pub(super) config: Arc<Config>,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) lock: PinFile,
    pub(super) pins: Pins,
    pub(super) dir: PathBuf,
    pub(super) files: Choice,
}

impl Survey {
    /// Reads the folder, or the user's default folder. Settings of names that are similar to those of its
    /// plugins are reported on stderr.
    ///
    /// # Errors
    /// If the folder or the pins cannot be read.
    pub(super) async fn open(options: &Options, config: Config, dir: Option<PathBuf>) -> Result<Self, Failure> {
        let config = Arc::new(config);
        let dir = plugin_folder(options, dir)?;
        // First: without the pins nothing else is of use.
        let lock = lock(&config)?.for_plugins(&dir);
        let pins = lock.read().map_err(lock_failure)?;
        let files = choice_in(&config, &dir)?;
        left_behind(&lock, &files).iter().for_each(|text| warning(text));
        let sandbox = options.sandbox(&config, std::slice::from_ref(&dir), Audit::default()).await?;
        absent::warnings(&config, &dir, files.names()).iter().for_each(|absent| warning(&absent.text));
        Ok(Self { config, sandbox, lock, pins, dir, files })
    }
}

/// Reports on stderr the files that are left out; returns how many there are.
pub(super) fn report_left_out(dir: &Path, left_out: &[(PathBuf, Ignored)]) -> usize {
    for (path, reason) in left_out.iter().take(MAX_NAMED) {
        report::refusal(&RefusedFile::of_ignored(path.clone(), reason));
    }
    if let Some(more) = left_out.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        report::refusal(&RefusedFile::of_ignored(dir.to_owned(), &Ignored::More(more)));
    }
    left_out.len()
}

/// Reports on stderr that some files of a folder were not examined; returns whether all were.
pub(super) fn report_left(dir: &Path, why: Option<&str>) -> bool {
    if let Some(why) = why {
        warning(&format!("failed to {why}: {}", dir.shown()));
    }
    why.is_none()
}

/// The plugins of a folder, as a server finds them.
///
/// # Errors
/// If the folder cannot be read, or what decides about its files.
pub(super) fn choice_in(config: &Config, dir: &Path) -> Result<Choice, Failure> {
    let guard = read_only_guard(&Arc::new(config.clone()))?;
    let choice = Choice::of(dir, &guard, |id| is_reserved(config, id));
    choice.map_err(|error| Failure::usage(format!("read the plugin folder: {error}: {}", dir.shown())))
}

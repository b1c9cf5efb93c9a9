//! The folder or file that a command works on.

use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_word};

use super::options::Options;
use super::wiring::is_component;
use crate::config;
use crate::report::Failure;

/// The folder to serve: the given one, or the user's default folder. That one is created if missing, also if it is
/// given: clients show it in their settings, and pass it on.
pub(super) fn plugin_folder(options: &Options, dir: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let default = config::base().map(|base| base.plugins);
    let is_default = dir.is_none() || dir == default;
    let dir = dir.or(default).ok_or_else(|| {
        Failure::usage("find the plugin folder: no home folder")
            .hint("add the plugin folder to the command line".to_owned())
    })?;
    if is_default {
        std::fs::create_dir_all(&dir).map_err(|error| Failure::usage(format!("create {}: {error}", dir.shown())))?;
    }
    match std::fs::metadata(&dir) {
        Ok(found) if found.is_dir() => Ok(dir),
        Ok(_) => Err(Failure::usage(format!("read the plugin folder: not a folder: {}", dir.shown())).hint(
            is_component(&dir).then(|| {
                let program = options.program();
                format!("wharf serves folders; to try one file: {program} list {}", shell_word(&dir))
            }),
        )),
        Err(error) => Err(Failure::usage(format!("read the plugin folder: {error}: {}", dir.shown()))
            .hint(format!("create it first: mkdir -p {}", shell_word(&dir)))),
    }
}

/// Whether a command works on this one file, and not on a folder.
pub(super) fn is_file(path: &Path) -> bool {
    is_component(path) && !path.is_dir()
}

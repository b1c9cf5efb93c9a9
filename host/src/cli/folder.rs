//! The folder or file that a command works on.

use std::path::{Path, PathBuf};

use wharf_report::{ShowPath as _, shell_word};

use super::options::Options;
use super::wiring::is_component;
use crate::config;
use crate::os::paths::folder_of;
use crate::pins::PinFile;
use crate::plugin::PluginId;
use crate::protocol::nearest::did_you_mean;
use crate::report::Failure;

/// The folder to serve, or to copy files into, as [`plugin_folder`]. One that is missing may be new.
pub(super) fn served_folder(options: &Options, dir: Option<PathBuf>) -> Result<PathBuf, Failure> {
    found_folder(options, dir, |dir| Some(format!("create it first: mkdir -p {}", shell_word(dir))))
}

/// The folder of plugins: the given one, or the user's default folder. That one is created if missing, also if it is
/// given: clients show it in their settings, and pass it on.
pub(super) fn plugin_folder(options: &Options, dir: Option<PathBuf>) -> Result<PathBuf, Failure> {
    found_folder(options, dir, |_| None)
}

/// `create`: how a missing folder is created, if that is of use.
fn found_folder(
    options: &Options,
    dir: Option<PathBuf>,
    create: fn(&Path) -> Option<String>,
) -> Result<PathBuf, Failure> {
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
            .hint(hint_for_missing(&dir, create(&dir)))),
    }
}

/// What to do about a folder that is not there. `create`: how it is created.
fn hint_for_missing(dir: &Path, create: Option<String>) -> String {
    if let Some(near) = near_path(dir) {
        return near;
    }
    // A bare word may be meant for a plugin, for which an empty folder would be made.
    let id = PluginId::parse(&dir.to_string_lossy()).ok();
    if let Some((id, folder)) = id.as_ref().and_then(|id| Some((id, folder_with(id)?))) {
        let folder = shell_word(&folder);
        return format!("{id} is a plugin; name the folder that its file is in, and not the plugin: {folder}");
    }
    let name = "name the folder that the plugins' .wasm files are in".to_owned();
    match create {
        None => name,
        Some(_) if is_component(dir) => name,
        Some(create) if id.is_some() => format!("{name}; or {create}"),
        Some(create) => create,
    }
}

/// The folder that has a file of the plugin: the user's own one, or the one that it was pinned for.
fn folder_with(id: &PluginId) -> Option<PathBuf> {
    let base = config::base()?;
    let pinned = || {
        let pins = PinFile::new(base.state.clone()).read().ok()?;
        pins.get(id)?.folder.as_ref().map(PathBuf::from)
    };
    let has_file = |folder: &PathBuf| folder.join(format!("{id}.wasm")).is_file();
    [Some(base.plugins.clone()), pinned()].into_iter().flatten().find(has_file)
}

/// Entries that are looked at for one of a similar name.
const MAX_ENTRIES: usize = 1024;

/// "did you mean": the folder or component beside a missing path whose name is nearly the same.
pub(super) fn near_path(missing: &Path) -> Option<String> {
    let name = missing.file_name()?.to_str()?;
    let entries = std::fs::read_dir(folder_of(missing).unwrap_or(Path::new("."))).ok()?.take(MAX_ENTRIES).flatten();
    let is_meant = |path: &Path| path.is_dir() || is_component(path);
    let names =
        entries.filter(|entry| is_meant(&entry.path())).filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let near = did_you_mean(name, names.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", shell_word(&missing.with_file_name(near))))
}

/// The folder of the plugins at a path, which is that or one file.
pub(super) fn folder_at(path: &Path) -> &Path {
    if is_file(path) { folder_of(path).unwrap_or(Path::new(".")) } else { path }
}

/// Whether a command works on this one file, and not on a folder.
pub(super) fn is_file(path: &Path) -> bool {
    is_component(path) && !path.is_dir()
}

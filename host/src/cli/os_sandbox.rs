//! The OS sandbox of `wharf serve`: the kernel then allows only the files that the configuration names,
//! Wharf's own files, and those that most programs may read.
//!
//! It protects against a plugin that escapes from its own sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use wharf_report::ShowPath as _;

use super::http::HttpOptions;
use super::options::Options;
use crate::config::{self, Config};
use crate::net::dial::CERTIFICATE_VARIABLES;
use crate::os::paths::folder_of;
use crate::os::private;
use crate::os::sandbox::{self, AllowedPaths, Enforcement, restrict_files};
use crate::plugin::{FolderGrant, FolderMode, PluginId};

/// Components of a path, `/` included, up to which a folder belongs to the whole system.
const SYSTEM_DEPTH: usize = 2;

/// Enters the OS sandbox. Must be called while there is one thread: other existing threads would stay
/// unrestricted.
pub(super) fn enter(options: &Options, config: &Config, dir: &Path, http: &HttpOptions) {
    if !config.sandbox.os_sandbox {
        tracing::debug!("no OS sandbox: sandbox.os-sandbox is false");
        return;
    }
    if let Some(why) = sandbox::UNSUPPORTED {
        tracing::warn!("no OS sandbox: {why}");
        return;
    }
    let allowed = allowed_paths(options, config, dir, http);
    match restrict_files(&allowed) {
        Ok(Enforcement::None) => tracing::warn!("no OS sandbox: this kernel has no landlock"),
        Err(error) => tracing::warn!("no OS sandbox: {error}"),
        Ok(enforcement) => {
            tracing::debug!(?enforcement, ?allowed, "OS sandbox active");
            if let Some(folder) = writable_around(&allowed, dir) {
                let (dir, folder) = (dir.shown(), folder.shown());
                tracing::warn!("the OS sandbox allows the server to write its own plugins: {dir} is in {folder}");
            }
        }
    }
}

fn allowed_paths(options: &Options, config: &Config, dir: &Path, http: &HttpOptions) -> AllowedPaths {
    let mut allowed = sandbox::system_paths();
    for folder in granted_folders(config) {
        match folder.mode {
            FolderMode::Read => allowed.read.push(folder.host),
            FolderMode::Write { .. } => allowed.write.push(folder.host),
        }
    }
    allowed.read.extend(CERTIFICATE_VARIABLES.into_iter().filter_map(std::env::var_os).map(PathBuf::from));
    // They may be replaced while the server runs.
    for file in named_files(config) {
        allowed.read.extend(around(&file));
        allowed.read.push(file);
    }
    allowed.read.extend(config.folders_of_secrets());
    allowed.read.push(dir.to_owned());
    allowed.read.extend(around(dir));
    if let Some(file) = &config.file {
        // A folder that is created later cannot be allowed.
        let _ = file.parent().map(fs::create_dir_all);
        allowed.read.push(file.clone());
        allowed.read.extend(around(file));
    }
    let audit = config.audit().map(|audit| audit.path);
    let files = audit.into_iter().chain(config.store_file());
    let recordings = config.recording().map(|recording| recording.folder);
    let folders: Vec<PathBuf> = files.filter_map(|file| file.parent().map(Path::to_owned)).chain(recordings).collect();
    for folder in options.own_folders(config::base().as_ref()).into_iter().chain(folders) {
        // As above. An error is reported when the folder is used.
        let _ = private::create_folder(&folder);
        allowed.write.push(folder);
    }
    let address = http.address(config);
    let socket = address.and_then(|address| address.strip_prefix("unix:")).map(Path::new);
    allowed.sockets.extend(socket.and_then(folder_of).map(Path::to_owned));
    allowed
}

/// A writable folder that contains the plugin folder.
fn writable_around<'a>(allowed: &'a AllowedPaths, dir: &Path) -> Option<&'a PathBuf> {
    let dir = dir.canonicalize().ok()?;
    allowed.write.iter().find(|folder| folder.canonicalize().is_ok_and(|folder| dir.starts_with(folder)))
}

/// The folders that are granted to plugins at the start.
pub(super) fn granted_folders(config: &Config) -> impl Iterator<Item = FolderGrant> {
    let plugins = config.plugins.keys().filter_map(|name| PluginId::parse(name).ok());
    plugins.flat_map(|id| config.grants(&id).parts().flat_map(|part| part.folders.clone()).collect::<Vec<_>>())
}

/// The files that the configuration names: of keys, tokens, secrets, certificates and descriptions of tools.
fn named_files(config: &Config) -> impl Iterator<Item = PathBuf> {
    let described = config.plugins.values().filter_map(|plugin| plugin.command.tool.as_ref());
    config.named_files().chain(described.map(|file| config.resolve(Path::new(file))))
}

/// The parent folders of a path and of its link target, so that a later replacement can be read too.
/// Excludes the home folder, folders that contain it, and folders of the whole system: a replacement
/// there needs a restart.
fn around(path: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let too_much = |folder: &Path| {
        folder.components().count() <= SYSTEM_DEPTH || home.as_ref().is_some_and(|home| home.starts_with(folder))
    };
    let linked = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let own = folder_of(path).and_then(|folder| folder.canonicalize().ok());
    let mut folders: Vec<PathBuf> = own.into_iter().chain(linked).filter(|folder| !too_much(folder)).collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_folders_are_allowed_but_never_a_home() {
        let root = tempfile::tempdir().expect("a folder");
        let plugins = root.path().join("plugins");
        fs::create_dir(&plugins).expect("a folder");
        let root = root.path().canonicalize().expect("it is there");
        assert_eq!(around(&plugins), std::slice::from_ref(&root));
        assert_eq!(around(&plugins.join("made-later")), std::slice::from_ref(&plugins));
        let link = root.join("link");
        std::os::unix::fs::symlink("plugins/file", &link).expect("a link");
        fs::write(plugins.join("file"), "").expect("a file");
        assert_eq!(around(&link), [root, plugins]);
        let home = std::env::home_dir().expect("a home");
        for path in [Path::new("/usr"), Path::new("/usr/lib"), Path::new("/not/there"), &home] {
            assert!(around(path).is_empty(), "{path:?}");
        }
    }
}

//! The second wall of `wharf serve`: from here on it opens what its configuration names, what
//! it keeps, and what every program of the system may read. The kernel holds it.
//!
//! It is no wall around a plugin, which opens nothing: it is for the day when one gets out.

use std::fs;
use std::path::{Path, PathBuf};

use super::http::HttpOptions;
use super::options::Options;
use crate::config::{self, Config};
use crate::os::private;
use crate::os::sandbox::{self, Reach, Standing, only_files};
use crate::plugin::{FolderMode, PluginId};

/// Of the OpenSSL library, whose places for certificates are everybody's.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
/// `/` and one name: too much of the system to be somebody's folder.
const SHALLOW: usize = 2;

/// Puts this process behind the wall. Call it while there is one thread: those that exist
/// already stay outside.
pub(super) fn raise(options: &Options, config: &Config, dir: &Path, http: &HttpOptions) {
    if !config.sandbox.second_wall {
        tracing::debug!("no OS sandbox: sandbox.second-wall is false");
        return;
    }
    if let Some(why) = sandbox::MISSING {
        tracing::warn!("no OS sandbox: {why}");
        return;
    }
    let reach = reach(options, config, dir, http);
    match only_files(&reach) {
        Ok(Standing::Not) => tracing::warn!("no OS sandbox: this kernel has no landlock"),
        Err(error) => tracing::warn!("no OS sandbox: {error}"),
        Ok(standing) => {
            tracing::debug!(?standing, ?reach, "OS sandbox active");
            if let Some(folder) = around_plugins(&reach, dir) {
                let (dir, folder) = (dir.display(), folder.display());
                tracing::warn!("the OS sandbox lets the server write its own plugins: {dir} lies in {folder}");
            }
        }
    }
}

fn reach(options: &Options, config: &Config, dir: &Path, http: &HttpOptions) -> Reach {
    let mut reach = sandbox::of_every_program();
    granted(config, &mut reach);
    reach.read.extend(CERTIFICATES.into_iter().filter_map(std::env::var_os).map(PathBuf::from));
    // They are renewed while the server runs.
    for file in secrets(config) {
        reach.read.extend(around(&file));
        reach.read.push(file);
    }
    reach.read.push(dir.to_owned());
    reach.read.extend(around(dir));
    if let Some(file) = &config.file {
        // What is made later could not be allowed any more.
        let _ = file.parent().map(fs::create_dir_all);
        reach.read.push(file.clone());
        reach.read.extend(around(file));
    }
    let base = config::base();
    let cache = options.cache.clone().or_else(|| base.as_ref().map(|base| base.cache.clone()));
    let store = base.as_ref().and_then(|base| base.store.parent().map(Path::to_owned));
    let audit = config.audit().and_then(|audit| audit.path.parent().map(Path::to_owned));
    for folder in [cache, store, base.map(|base| base.state), audit].into_iter().flatten() {
        // The same. Whoever needs it says why it is not there.
        let _ = private::make_folder(&folder);
        reach.write.push(folder);
    }
    let address = http.address(config);
    let socket = address.and_then(|address| address.strip_prefix("unix:")).map(Path::new);
    reach.sockets.extend(socket.and_then(Path::parent).map(|folder| Path::new(".").join(folder)));
    reach
}

/// A folder to be written that holds the plugins.
fn around_plugins<'a>(reach: &'a Reach, dir: &Path) -> Option<&'a PathBuf> {
    let dir = dir.canonicalize().ok()?;
    reach.write.iter().find(|folder| folder.canonicalize().is_ok_and(|folder| dir.starts_with(folder)))
}

/// Adds what plugins are granted of the file system at the start.
fn granted(config: &Config, reach: &mut Reach) {
    for name in config.plugins.keys() {
        let Ok(id) = PluginId::parse(name) else { continue };
        for folder in config.grants(&id).folders {
            match folder.mode {
                FolderMode::Read => reach.read.push(folder.host),
                FolderMode::Write { .. } => reach.write.push(folder.host),
            }
        }
    }
}

/// What the configuration names to be read at the start.
fn secrets(config: &Config) -> impl Iterator<Item = PathBuf> {
    let http = &config.server.http;
    let key = config.server.state_key.iter().filter_map(|key| key.file.as_ref());
    let tokens = http.tokens.iter().filter_map(|token| token.file.as_ref());
    let named = config.secrets.values().filter_map(|secret| secret.file.as_ref());
    key.chain(tokens).chain(named).map(|file| config.resolve(file)).chain(certificates(config))
}

/// The server's own certificate and its key.
fn certificates(config: &Config) -> impl Iterator<Item = PathBuf> {
    config.server.http.tls.iter().flat_map(|tls| [&tls.cert, &tls.key]).map(|file| config.resolve(file))
}

/// The folder around a path, and around what a link there leads to, so that what is put in its
/// place later is within reach too. Not if that is somebody's home, holds homes, or is a folder of
/// the whole system: what is replaced there counts from the next start.
fn around(path: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let too_much = |folder: &Path| {
        folder.components().count() <= SHALLOW || home.as_ref().is_some_and(|home| home.starts_with(folder))
    };
    let linked = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let own = path.parent().and_then(|folder| Path::new(".").join(folder).canonicalize().ok());
    let mut folders: Vec<PathBuf> = own.into_iter().chain(linked).filter(|folder| !too_much(folder)).collect();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_taken_with_what_is_around_it_but_never_a_home() {
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

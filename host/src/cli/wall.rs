//! The second wall of `wharf serve`: from here on it opens what its configuration names, what
//! it keeps, and what every program of the system may read. The kernel holds it.
//!
//! It is no wall around a plugin, which opens nothing: it is for the day when one gets out.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::{Options, http::HttpOptions};
use crate::config::{self, Config};
use crate::plugin::{FolderMode, PluginId};
use crate::wall::Reach;
#[cfg(target_os = "linux")]
use crate::wall::{Standing, only_files};

/// Libraries and certificates, names and addresses of the network, time zones, and what says how
/// many processors there are. Secrets among them are kept by their own modes.
const SYSTEM: [&str; 9] = [
    "/etc",
    "/usr",
    "/lib",
    "/lib64",
    "/proc/self",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/urandom",
    "/var/lib/ca-certificates",
];
/// Where programs on their way out are pointed to.
const SINK: &str = "/dev/null";
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
    let reach = reach(options, config, dir, http);
    let around = around_plugins(&reach, dir);
    #[cfg(target_os = "linux")]
    match only_files(&reach) {
        Ok(Standing::Not) => tracing::warn!("no OS sandbox: this kernel has no landlock"),
        Err(error) => tracing::warn!("no OS sandbox: {error}"),
        Ok(standing) => {
            tracing::debug!(?standing, ?reach, "OS sandbox active");
            if let Some(folder) = around {
                let (dir, folder) = (dir.display(), folder.display());
                tracing::warn!("the OS sandbox lets the server write its own plugins: {dir} lies in {folder}");
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    tracing::debug!(?reach, ?around, "no OS sandbox on this system");
}

fn reach(options: &Options, config: &Config, dir: &Path, http: &HttpOptions) -> Reach {
    let mut reach = granted(config);
    reach.read.extend(SYSTEM.map(PathBuf::from));
    reach.read.extend(resolver());
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
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        reach.write.push(folder);
    }
    reach.write.push(SINK.into());
    reach.execute.extend(mapped());
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

/// What plugins are granted of the file system at the start.
fn granted(config: &Config) -> Reach {
    let mut reach = Reach::default();
    for name in config.plugins.keys() {
        let Ok(id) = PluginId::parse(name) else { continue };
        for folder in config.grants(&id).folders {
            match folder.mode {
                FolderMode::Read => reach.read.push(folder.host),
                FolderMode::Write { .. } => reach.write.push(folder.host),
            }
        }
    }
    reach
}

/// What the configuration names to be read at the start.
fn secrets(config: &Config) -> impl Iterator<Item = PathBuf> {
    let http = &config.server.http;
    let key = config.server.state_key.iter().filter_map(|key| key.file.as_ref());
    let tokens = http.tokens.iter().filter_map(|token| token.file.as_ref());
    let named = config.secrets.values().filter_map(|secret| secret.file.as_ref());
    key.chain(tokens).chain(named).map(|file| config.beside(file)).chain(certificates(config))
}

/// The server's own certificate and its key.
fn certificates(config: &Config) -> impl Iterator<Item = PathBuf> {
    config.server.http.tls.iter().flat_map(|tls| [&tls.cert, &tls.key]).map(|file| config.beside(file))
}

/// The folder in which the system keeps the addresses of its resolvers: the file there is replaced
/// whenever the network is another.
fn resolver() -> Option<PathBuf> {
    let file = fs::canonicalize("/etc/resolv.conf").ok()?;
    file.parent().map(Path::to_owned)
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

/// This program, its loader and its libraries, which the compiler's process needs once more.
fn mapped() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files: Vec<PathBuf> = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].into())).collect();
    files.sort();
    files.dedup();
    files
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

    #[test]
    fn what_is_needed_to_start_once_more_is_found() {
        let program = std::env::current_exe().expect("this program");
        assert!(mapped().contains(&program), "{program:?} is not in {:?}", mapped());
    }
}

//! Which files of a folder are plugins: `*.wasm` in it and in its direct subfolders.
//!
//! It looks at names only; what is in a file is found out when it is loaded.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::plugin::PluginId;

/// Plugins are few; a folder that holds more than this is a mistake or an attack.
pub(super) const MAX_PLUGINS: usize = 256;

/// What a scan found, in path order, however many there are.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) plugins: BTreeMap<PathBuf, PluginId>,
    /// Names that look like plugins and cannot be, with the reason: a fragment that reads
    /// after "failed to".
    pub(super) ignored: Vec<(PathBuf, String)>,
    /// The folder itself and its subfolders: what has to be watched.
    pub(super) folders: Vec<PathBuf>,
}

/// The plugin that a path stands for. `None` for what is none of our business.
pub fn plugin_of(path: &Path) -> Option<Result<PluginId, String>> {
    if path.extension()? != "wasm" {
        return None;
    }
    let Some(stem) = path.file_stem()?.to_str() else {
        return Some(Err("read the file's name, which is not UTF-8".into()));
    };
    // Editors and copying programs keep unfinished work in dot files.
    if stem.starts_with('.') {
        return None;
    }
    Some(PluginId::parse(stem).map_err(|invalid| invalid.to_string()))
}

/// The file that a path is the signature of, or else the path itself.
pub(super) fn signed(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "minisig") {
        path.with_extension("")
    } else {
        path.to_owned()
    }
}

/// The plugin files of a folder, by what they are called: the first ones, if there are too
/// many, and of two with one name the first.
///
/// # Errors
/// If the folder cannot be read.
pub fn plugin_files(folder: &Path) -> io::Result<BTreeMap<PluginId, PathBuf>> {
    let mut files = BTreeMap::new();
    for (path, id) in scan(folder)?.plugins.into_iter().take(MAX_PLUGINS) {
        files.entry(id).or_insert(path);
    }
    Ok(files)
}

/// Lists a folder and its direct subfolders.
///
/// # Errors
/// Only if the folder itself cannot be read; a subfolder that cannot is reported in
/// [`Scan::ignored`].
pub(super) fn scan(root: &Path) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let subfolders = scan.read(root)?;
    for folder in subfolders {
        if let Err(error) = scan.read(&folder) {
            scan.ignored.push((folder, format!("read the folder: {error}")));
        }
    }
    Ok(scan)
}

impl Scan {
    fn read(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut subfolders = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            match plugin_of(&path) {
                Some(Ok(id)) => {
                    self.plugins.insert(path, id);
                }
                Some(Err(reason)) => self.ignored.push((path, reason)),
                // A link to a folder is not followed: it may lead out of the plugin folder.
                None if entry.file_type()?.is_dir() && !entry.file_name().as_encoded_bytes().starts_with(b".") => {
                    subfolders.push(path);
                }
                None => {}
            }
        }
        self.folders.push(folder.to_owned());
        subfolders.sort();
        Ok(subfolders)
    }
}

//! Which files of a folder a server loads, and in which order, by what is known before any of them is loaded.
//!
//! Plugins that have a pin come before unknown ones. The file that is pinned has the name of its plugin before others,
//! whatever they are called.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use super::files::{Ignored, MAX_PLUGINS, Scan, scan};
use crate::pins::{Guard, KnownPins};
use crate::plugin::{Digest, PluginId, check_size, content_of};

/// Maximum files that are remembered, with those that are refused or held.
pub(super) const MAX_FILES: usize = 16 * MAX_PLUGINS;
/// Bytes of files that are read to find the one of a plugin that is pinned, if it is not where it was.
const MAX_COMPARED: u64 = 1 << 30;

/// The files of a folder that may be loaded: at most [`MAX_FILES`], one for each plugin. Of these, [`MAX_PLUGINS`] that
/// are neither refused nor held are served.
#[derive(Default)]
pub struct Choice {
    /// In the order in which they get their places.
    order: Vec<PluginId>,
    files: BTreeMap<PluginId, PathBuf>,
    /// The files that are not loaded for their name or their number, and folders that were not read.
    pub left_out: Vec<(PathBuf, Ignored)>,
}

impl Choice {
    /// The choice of a server that decides by `guard`. `is_reserved`: the names of the server's own tools.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn of(folder: &Path, guard: &Guard, is_reserved: impl Fn(&PluginId) -> bool) -> io::Result<Self> {
        let (mut scan, pins) = (scan(folder)?, guard.read_pins_silently());
        let mut choice = Self { left_out: std::mem::take(&mut scan.ignored), ..Self::default() };
        let mut compared: HashMap<PluginId, u64> = HashMap::new();
        for (path, id) in in_order(scan, |id| Pinned::of(guard, &pins, id).is_some()) {
            if is_reserved(&id) {
                choice.left_out.push((path, Ignored::NameReserved(id)));
                continue;
            }
            let Some(owner) = choice.files.get_mut(&id) else {
                if choice.order.len() < MAX_FILES {
                    choice.order.push(id.clone());
                    choice.files.insert(id, path);
                } else {
                    choice.left_out.push((path, Ignored::TooManyPlugins));
                }
                continue;
            };
            let is_pinned = Pinned::of(guard, &pins, &id)
                .is_some_and(|pinned| pinned.takes_name(folder, &path, owner, compared.entry(id).or_default()));
            if is_pinned {
                let other = std::mem::replace(owner, path.clone());
                choice.left_out.push((other, Ignored::NameTaken(path)));
            } else {
                choice.left_out.push((path, Ignored::NameTaken(owner.clone())));
            }
        }
        Ok(choice)
    }

    pub fn get(&self, id: &PluginId) -> Option<&Path> {
        self.files.get(id).map(PathBuf::as_path)
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The plugins with their files, in the order in which a server loads them.
    pub fn in_order(&self) -> impl Iterator<Item = (&PluginId, &Path)> {
        self.order.iter().filter_map(|id| Some((id, self.get(id)?)))
    }

    /// The names of the plugins, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.files.keys().map(PluginId::as_ref)
    }
}

/// The plugins in the order in which they get their names and places.
pub(super) fn in_order(scan: Scan, is_known: impl Fn(&PluginId) -> bool) -> Vec<(PathBuf, PluginId)> {
    let mut plugins = scan.in_order();
    // Stable: otherwise in the order of names.
    plugins.sort_by_key(|(_, id)| !is_known(id));
    plugins
}

/// The version of a plugin that was pinned.
pub(super) struct Pinned<'p> {
    content: Digest,
    /// Where its file was, in the plugin folder.
    place: Option<&'p Path>,
}

impl<'p> Pinned<'p> {
    pub(super) fn of(guard: &Guard, pins: &'p KnownPins, id: &PluginId) -> Option<Self> {
        let pin = pins.as_ref().and_then(|pins| pins.get(id));
        let content = guard.configured_pin(id).or_else(|| pin.map(|pin| pin.content))?;
        Some(Self { content, place: pin.and_then(|pin| pin.file.as_deref()).map(Path::new) })
    }

    /// Whether a file of the folder has the name of its plugin before its `owner`: it is pinned, and the owner is not.
    /// `compared`: bytes of the files that were compared with the owner, which are bounded. The file at the place where
    /// the version was pinned is compared however many others there are.
    pub(super) fn takes_name(&self, folder: &Path, path: &Path, owner: &Path, compared: &mut u64) -> bool {
        let is_there = || self.place.is_some_and(|place| path.strip_prefix(folder) == Ok(place));
        let size = path.symlink_metadata().map_or(0, |found| found.len());
        // One that is too large cannot be pinned, and is not read.
        if check_size(size).is_err() || *compared + size > MAX_COMPARED && !is_there() {
            return false;
        }
        *compared += size;
        content_of(path) == Some(self.content) && content_of(owner) != Some(self.content)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pins::Rules;
    use crate::plugin::Signatures;

    fn pinning(plugin: &'static str, content: &[u8]) -> Guard {
        let content = Digest::of(content);
        let rules = move |id: &PluginId| Rules {
            configured_pin: (id.as_ref() == plugin).then_some(content),
            ..Rules::default()
        };
        Guard::new(None, rules, Signatures::default)
    }

    #[test]
    fn the_file_that_is_pinned_has_the_name_and_comes_first() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir(root.path().join("sub")).expect("a folder");
        let (own, other) = (root.path().join("notes.wasm"), root.path().join("sub/notes.wasm"));
        for (path, content) in [(&own, "own"), (&other, "other"), (&root.path().join("a.wasm"), "a")] {
            fs::write(path, content).expect("a file");
        }
        for (content, winner, loser) in [(&b"other"[..], &other, &own), (b"own", &own, &other), (b"none", &own, &other)]
        {
            let choice = Choice::of(root.path(), &pinning("notes", content), |_| false).expect("a folder");
            let order: Vec<(&str, &Path)> = choice.in_order().map(|(id, path)| (id.as_ref(), path)).collect();
            assert_eq!(order, [("notes", winner.as_path()), ("a", &root.path().join("a.wasm"))]);
            assert_eq!(choice.names().collect::<Vec<_>>(), ["a", "notes"]);
            assert!(
                matches!(&choice.left_out[..], [(path, Ignored::NameTaken(owner))] if path == loser && owner == winner)
            );
        }
        let choice = Choice::of(root.path(), &Guard::permissive(), |_| false).expect("a folder");
        assert!(choice.in_order().next().is_some_and(|(id, _)| id.as_ref() == "a"));
        let is_reserved = |id: &PluginId| id.as_ref() == "notes";
        let choice = Choice::of(root.path(), &pinning("notes", b"own"), is_reserved).expect("a folder");
        assert_eq!((choice.names().collect::<Vec<_>>(), choice.left_out.len()), (vec!["a"], 2));
        assert!(choice.left_out.iter().all(|(_, why)| matches!(why, Ignored::NameReserved(_))));
    }

    /// Also those that are too large to be a plugin, which take no disk.
    #[test]
    fn the_file_that_is_pinned_has_the_name_among_many() {
        let root = tempfile::tempdir().expect("a folder");
        let pinned = root.path().join("z/My_Tool.wasm");
        for number in 0..100 {
            let folder = root.path().join(format!("a{number:02}"));
            fs::create_dir(&folder).expect("a folder");
            let rival = fs::File::create(folder.join("my-tool.wasm")).expect("a file");
            rival.set_len(if number % 2 == 0 { 20 } else { 1 << 40 }).expect("a size");
        }
        fs::create_dir(root.path().join("z")).expect("a folder");
        fs::write(&pinned, "own").expect("a file");
        let choice = Choice::of(root.path(), &pinning("my-tool", b"own"), |_| false).expect("a folder");
        assert_eq!(choice.get(&PluginId::parse("my-tool").expect("an id")), Some(pinned.as_path()));
    }

    #[test]
    fn more_files_than_a_server_remembers_are_left_out_and_counted() {
        let root = tempfile::tempdir().expect("a folder");
        for number in 0..MAX_FILES + 2 {
            fs::write(root.path().join(format!("a{number:05}.wasm")), "").expect("a file");
        }
        fs::write(root.path().join("z.wasm"), "").expect("a file");
        let choice = Choice::of(root.path(), &pinning("z", b""), |_| false).expect("a folder");
        assert_eq!((choice.in_order().count(), choice.left_out.len()), (MAX_FILES, 3));
        assert!(choice.in_order().next().is_some_and(|(id, _)| id.as_ref() == "z"));
    }
}

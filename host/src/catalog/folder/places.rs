//! Which files may be loaded if there are more than a folder serves, and which of two files has a plugin's name.
//!
//! Only a file that is served, or may still be, takes a place: one that is refused or held gives it back. Plugins in
//! service keep theirs; of the files that wait, plugins that have a pin come before unknown ones.

use std::path::{Path, PathBuf};

use super::{File, Folder, LoadState};
use crate::catalog::choice::{MAX_FILES, Pinned};
use crate::catalog::files::{Ignored, MAX_PLUGINS};
use crate::pins::KnownPins;
use crate::plugin::PluginId;

impl Folder {
    /// Takes these pins for the order of files.
    pub(super) fn order_by(&mut self, pins: KnownPins) {
        for file in self.files.values_mut() {
            file.is_known = Pinned::of(&self.guard, &pins, &file.id).is_some();
        }
        self.pins = pins;
    }

    /// Whether a version of the plugin was pinned.
    pub(super) fn is_known(&self, id: &PluginId) -> bool {
        Pinned::of(&self.guard, &self.pins, id).is_some()
    }

    /// Whether a new file of that plugin may be loaded. Files of known plugins take the place of others.
    pub(super) fn has_place_for(&mut self, id: &PluginId) -> bool {
        if self.has_place() {
            return true;
        }
        if !self.is_known(id) {
            return false;
        }
        if self.files.len() >= MAX_FILES {
            let other = self.files.iter().find(|(_, file)| !file.takes_place() && !file.is_known);
            let Some(path) = other.map(|(path, _)| path.clone()) else { return false };
            self.give_up(path);
        }
        true
    }

    /// Takes their places from files that wait, if there are too many.
    pub(super) fn limit_places(&mut self) {
        let mut taken = self.taken();
        while taken > MAX_PLUGINS {
            let waiting = self.files.iter().filter(|(_, file)| file.waits() && !file.serving);
            let Some(path) =
                waiting.max_by_key(|(_, file)| (!file.is_known, file.number)).map(|(path, _)| path.clone())
            else {
                return;
            };
            self.give_up(path);
            taken -= 1;
        }
    }

    /// Loads files over the limit in place of those that were removed, refused or held.
    pub(super) fn fill_places(&mut self) {
        while self.has_place() {
            let Some(next) = self.over_limit.pop_first() else { return };
            self.unserved.withdraw(&next);
            self.sync_path(next);
        }
    }

    /// Whether more files than that were refused or held: they are counted in the log, and not named.
    pub(super) fn is_crowded(&self) -> bool {
        self.files.len() > MAX_PLUGINS
    }

    /// Gives a name to the file at `path` if it is the one that is pinned, and its owner is another, which is not in
    /// service.
    pub(super) fn takes_name(&mut self, id: &PluginId, path: &Path, owner: &Path) -> bool {
        let Some(pinned) = Pinned::of(&self.guard, &self.pins, id) else { return false };
        let Some(file) = self.files.get_mut(owner).filter(|file| !file.serving) else { return false };
        if !pinned.takes_name(&self.root, path, owner, &mut file.compared) {
            return false;
        }
        if let Some(file) = self.files.remove(owner) {
            self.abort_load(file.number);
        }
        self.owners.remove(id);
        self.ignored.remove(path);
        self.ignore(owner.to_owned(), Ignored::NameTaken(path.to_owned()));
        true
    }

    fn has_place(&self) -> bool {
        self.files.len() < MAX_FILES && self.taken() < MAX_PLUGINS
    }

    fn taken(&self) -> usize {
        self.files.values().filter(|file| file.takes_place()).count()
    }

    fn give_up(&mut self, path: PathBuf) {
        let Some(file) = self.files.remove(&path) else { return };
        self.owners.remove(&file.id);
        self.refuse_over_limit(path);
    }

    pub(super) fn refuse_over_limit(&mut self, path: PathBuf) {
        if self.over_limit.insert(path.clone()) {
            self.refuse(path, Ignored::TooManyPlugins);
        }
    }
}

impl File {
    fn takes_place(&self) -> bool {
        self.serving || self.state != LoadState::Idle
    }
}

#[cfg(test)]
mod tests;

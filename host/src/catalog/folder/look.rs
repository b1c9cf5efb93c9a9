//! Which files are loaded, and which are ignored.

use std::path::PathBuf;

use super::{File, Folder, State};
use crate::catalog::files::{self, MAX_PLUGINS, Scan};
use crate::plugin::exports_completions;

impl Folder {
    pub(super) fn take_up(&mut self, scan: Scan) {
        for (path, reason) in scan.ignored {
            self.ignore(path, reason);
        }
        let gone: Vec<PathBuf> = self
            .files
            .keys()
            .filter(|path| !(scan.plugins.contains_key(*path) || scan.cut && self.is_there(path)))
            .cloned()
            .collect();
        for path in gone {
            self.miss(&path);
        }
        for path in scan.plugins.into_keys().filter(|path| !scan.unfinished.contains(path)) {
            self.look(path);
        }
        self.catalog.set_looked();
    }

    pub(super) fn ignore(&mut self, path: PathBuf, reason: String) {
        if self.ignored.insert(path.clone()) {
            self.refuse(path, reason);
        }
    }

    /// Synchronizes one path with the file system.
    pub(super) fn look(&mut self, path: PathBuf) {
        if !self.is_there(&path) {
            return self.miss(&path);
        }
        let id = match files::plugin_of(&path) {
            Some(Ok(id)) => id,
            Some(Err(reason)) => return self.ignore(path, reason),
            None => return,
        };
        // The first file keeps the name, regardless of how later ones sort.
        if self.files.len() >= MAX_PLUGINS && !self.files.contains_key(&path) {
            if self.surplus.insert(path.clone()) {
                self.refuse(path, format!("load more than {MAX_PLUGINS} plugins"));
            }
            return;
        }
        match self.owners.get(&id) {
            None if self.catalog.host_uses(&id) => {
                return self.ignore(path, format!("use the plugin's name, which is reserved: {id}"));
            }
            Some(owner) if *owner != path => {
                let reason = format!("use the plugin's name, which another file already has: {}", owner.display());
                return self.ignore(path, reason);
            }
            _ => self.owners.insert(id.clone(), path.clone()),
        };
        let completions = exports_completions(&path);
        let taken_up = &mut self.taken_up;
        let file = self.files.entry(path).or_insert_with(|| {
            *taken_up += 1;
            File::new(id, *taken_up)
        });
        (file.completions, file.gone) = (completions, None);
        file.load_again();
        self.expect_completions();
        self.start_loads();
    }

    /// Announces to the catalog the capabilities of the files that are being loaded.
    pub(super) fn expect_completions(&self) {
        let expected = |file: &File| file.completions && file.state != State::Resting;
        self.catalog.expect_completions(self.files.values().any(expected));
    }
}

impl File {
    fn new(id: crate::plugin::PluginId, number: u64) -> Self {
        Self {
            id,
            number,
            state: State::Resting,
            loaded: None,
            settings: None,
            surface: None,
            seen: None,
            held: None,
            unsigned: None,
            serving: false,
            completions: false,
            reprieve: None,
            gone: None,
        }
    }

    /// Has it loaded, once more if it is being loaded.
    pub(super) fn load_again(&mut self) {
        self.state = match self.state {
            State::Resting | State::Waiting => State::Waiting,
            State::Loading | State::LoadingAgain => State::LoadingAgain,
        };
    }
}

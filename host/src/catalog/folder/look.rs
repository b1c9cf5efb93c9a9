//! Which files are loaded, and which are ignored.

use std::fs;
use std::path::PathBuf;

use super::{File, Folder, LoadState};
use crate::catalog::choice::in_order;
use crate::catalog::files::{self, Ignored, Scan};
use crate::plugin::{Isolation, exports_completions};

impl Folder {
    pub(super) fn apply_scan(&mut self, mut scan: Scan) {
        if scan.unread {
            self.retry.scan = true;
            self.retry_later();
        }
        for (path, reason) in std::mem::take(&mut scan.ignored) {
            self.ignore(path, reason);
        }
        let gone: Vec<PathBuf> = self
            .files
            .keys()
            .filter(|path| !(scan.plugins.contains_key(*path) || scan.truncated && self.exists(path)))
            .cloned()
            .collect();
        for path in gone {
            self.mark_gone(&path);
        }
        let unfinished = std::mem::take(&mut scan.unfinished);
        self.order_by(self.guard.read_pins());
        for (path, _) in in_order(scan, |id| self.is_known(id)) {
            if !unfinished.contains(&path) {
                self.sync_path(path);
            }
        }
        self.expect_skills();
        self.catalog.set_files_known();
    }

    pub(super) fn ignore(&mut self, path: PathBuf, reason: Ignored) {
        if self.ignored.insert(path.clone()) {
            self.refuse(path, reason);
        }
    }

    /// Brings one path in sync with the file system.
    pub(super) fn sync_path(&mut self, path: PathBuf) {
        if !self.exists(&path) {
            return self.mark_gone(&path);
        }
        let id = match files::plugin_of(&path) {
            Some(Ok(id)) => id,
            Some(Err(reason)) => return self.ignore(path, reason),
            None => return,
        };
        match self.owners.get(&id).cloned() {
            None if self.catalog.is_host_name(&id) => {
                return self.ignore(path, Ignored::NameReserved(id));
            }
            Some(owner) if owner != path && !self.takes_name(&id, &path, &owner) => {
                return self.ignore(path, Ignored::NameTaken(owner));
            }
            _ => {}
        }
        // Checked in order of arrival: loaded plugins keep their place, however later files sort.
        if !self.files.contains_key(&path) && !self.has_place_for(&id) {
            return self.refuse_over_limit(path);
        }
        self.over_limit.remove(&path);
        self.owners.insert(id.clone(), path.clone());
        let completions = exports_completions(&path);
        let (size, is_known) = (fs::metadata(&path).map_or(0, |file| file.len()), self.is_known(&id));
        let changed = path.clone();
        let last_number = &mut self.last_number;
        let file = self.files.entry(path).or_insert_with(|| {
            *last_number += 1;
            File::new(id, *last_number)
        });
        (file.completions, file.removal_at) = (completions, None);
        (file.size, file.is_known) = (size, is_known);
        file.load_again();
        self.mark_replaced(&changed);
        self.expect_completions();
        self.start_loads();
    }

    /// Sets in the catalog whether a file that is being loaded will offer completions.
    pub(super) fn expect_completions(&self) {
        let expected = |file: &File| file.completions && file.state != LoadState::Idle;
        self.catalog.expect_completions(self.files.values().any(expected));
    }
}

impl File {
    pub(super) fn new(id: crate::plugin::PluginId, number: u64) -> Self {
        Self {
            id,
            number,
            state: LoadState::Idle,
            slices: 0,
            size: 0,
            is_known: false,
            compared: 0,
            arrival: None,
            loaded: None,
            settings: None,
            isolation: Isolation::Shared,
            pinned_surface: None,
            serving_info: None,
            held: None,
            unread: None,
            refused_signers: None,
            serving: false,
            compiling: None,
            claimed: None,
            completions: false,
            reprieve: None,
            removal_at: None,
        }
    }

    /// Schedules a load; if one is running, another one after it.
    pub(super) fn load_again(&mut self) {
        self.state = match self.state {
            LoadState::Idle | LoadState::Queued | LoadState::Uncompiled => LoadState::Queued,
            LoadState::Loading | LoadState::Reloading => LoadState::Reloading,
        };
    }
}

//! Lets a version that the configuration no longer pins keep serving while the newly pinned one is
//! loaded.
//!
//! The reprieve ends with that load, whatever its result. There is none if the pinned version is not in
//! the folder.

use std::path::Path;

use super::{File, LoadState};
use crate::plugin::{Digest, content_of};

/// The reprieve of one file's version in service.
pub(super) struct Reprieve {
    /// The newly pinned digest.
    pinned: Digest,
    /// How many more loads end before the reprieve does.
    loads: u8,
}

impl File {
    /// Whether the version in service keeps serving although `pinned` is another one. Schedules a load if
    /// the file at `path` has the pinned digest. The file is read here, once for each change of a pin.
    pub(super) fn is_reprieved(&mut self, path: &Path, pinned: Digest) -> bool {
        if let Some(reprieve) = self.reprieve.as_ref().filter(|reprieve| reprieve.pinned == pinned) {
            return reprieve.loads > 0;
        }
        let is_in_folder = content_of(path) == Some(pinned);
        if is_in_folder {
            // A running load may have read other bytes, or been checked against the previous pin.
            let is_loading = matches!(self.state, LoadState::Loading | LoadState::Reloading);
            self.reprieve = Some(Reprieve { pinned, loads: if is_loading { 2 } else { 1 } });
            self.load_again();
        }
        is_in_folder
    }

    /// Counts a load that ended.
    pub(super) fn shorten_reprieve(&mut self) {
        if let Some(reprieve) = &mut self.reprieve {
            reprieve.loads = reprieve.loads.saturating_sub(1);
        }
    }

    /// Whether the reprieve is over while the old version still serves, so that decisions must be applied
    /// again.
    pub(super) fn is_reprieve_over(&self) -> bool {
        self.serving && self.reprieve.as_ref().is_some_and(|reprieve| reprieve.loads == 0)
    }
}

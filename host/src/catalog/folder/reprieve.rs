//! Lets a version that the configuration no longer pins keep serving while the newly pinned one is
//! loaded.
//!
//! The reprieve ends with that load, whatever its result: a pin of a version that cannot be loaded,
//! or is not in the folder, keeps nothing in service.

use std::path::Path;

use super::{File, State};
use crate::plugin::{Digest, content_of};

/// Of one file.
pub(super) struct Reprieve {
    /// The digest being waited for.
    named: Digest,
    /// How many loads may still end before it does.
    loads: u8,
}

impl File {
    /// Whether the serving version keeps serving although `named` is pinned. The file at `path` is
    /// loaded if it has that digest; it is read here, at most once for each change of a pin.
    pub(super) fn is_reprieved(&mut self, path: &Path, named: Digest) -> bool {
        if let Some(reprieve) = self.reprieve.as_ref().filter(|reprieve| reprieve.named == named) {
            return reprieve.loads > 0;
        }
        let is_there = content_of(path) == Some(named);
        if is_there {
            // What is under way may have read other bytes, or been judged by the pin before.
            let under_way = matches!(self.state, State::Loading | State::LoadingAgain);
            self.reprieve = Some(Reprieve { named, loads: if under_way { 2 } else { 1 } });
            self.load_again();
        }
        is_there
    }

    /// Notes that a load has ended.
    pub(super) fn shorten_reprieve(&mut self) {
        if let Some(reprieve) = &mut self.reprieve {
            reprieve.loads = reprieve.loads.saturating_sub(1);
        }
    }

    /// Whether the decision must be repeated if the serving version keeps serving.
    pub(super) fn is_reprieve_over(&self) -> bool {
        self.serving && self.reprieve.as_ref().is_some_and(|reprieve| reprieve.loads == 0)
    }
}

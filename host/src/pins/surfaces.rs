//! The surfaces of pinned versions, stored verbatim so that the next version can be compared.
//!
//! A lost or damaged text costs the comparison only; decisions use its digest.

use std::collections::HashSet;
use std::fs;
use std::io;

use super::file::{Lock, LockError};
use super::guard::Version;
use super::pin::{Pin, Pins};
use crate::os::files;
use crate::os::private::{self, Durability};
use crate::plugin::{Digest, PluginId};

const FOLDER: &str = "surfaces";
/// Bytes of the longest text. A surface has at most some hundred KiB; here it is escaped.
const MAX_SIZE: u64 = 4 << 20;

impl Lock {
    /// The text with that digest, if it exists.
    pub fn surface(&self, digest: Digest) -> Option<String> {
        let text = files::read_text(&self.folder().join(FOLDER).join(name(digest)), MAX_SIZE).ok()?;
        (Digest::of(text.as_bytes()) == digest).then_some(text)
    }

    /// Pins a version that a person approved, on the calling thread.
    ///
    /// # Errors
    /// As [`Lock::update`].
    pub fn approve(&self, id: &PluginId, version: &Version) -> Result<(), LockError> {
        let pins = self.update(|pins| {
            pins.approve(id, Pin::of(&version.seen, true));
            pins.clone()
        })?;
        self.keep_surfaces([&*version.words], &pins);
        Ok(())
    }

    /// Stores texts, and deletes those of no pin.
    pub(super) fn keep_surfaces<'a>(&self, texts: impl IntoIterator<Item = &'a str>, pins: &Pins) {
        if let Err(error) = self.try_keep(texts, pins) {
            tracing::warn!("failed to store tool descriptions: {error}");
        }
    }

    fn try_keep<'a>(&self, texts: impl IntoIterator<Item = &'a str>, pins: &Pins) -> io::Result<()> {
        let folder = self.folder().join(FOLDER);
        private::create_folder(&folder)?;
        let mut wanted: HashSet<String> = pins.all().map(|(_, pin)| name(pin.surface)).collect();
        for text in texts {
            let name = name(Digest::of(text.as_bytes()));
            let path = folder.join(&name);
            if !path.exists() {
                let next = folder.join(format!("{name}.{}.next", std::process::id()));
                private::write(&next, &[text.as_bytes()], Durability::Deferred)?;
                fs::rename(next, path)?;
            }
            wanted.insert(name);
        }
        for entry in fs::read_dir(&folder)?.flatten() {
            if entry.file_name().to_str().is_none_or(|found| !wanted.contains(found)) {
                // Another process may be faster.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

fn name(digest: Digest) -> String {
    format!("{digest}.json")
}

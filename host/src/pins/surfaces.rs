//! What pinned versions say of themselves, kept word for word so that the next version can
//! be compared with it.
//!
//! A text that is lost or not its own costs the comparison and no decision.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};

use super::file::{Lock, LockError};
use super::guard::Version;
use super::pin::{Pin, Pins};
use crate::plugin::{Digest, PluginId};

const FOLDER: &str = "surfaces";

impl Lock {
    /// The text of that hash, if it is there.
    pub fn surface(&self, digest: Digest) -> Option<String> {
        let text = fs::read_to_string(self.folder().join(FOLDER).join(name(digest))).ok()?;
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
        if let Err(error) = self.keep_surface(&version.words, &pins) {
            tracing::warn!(plugin = %id, "failed to keep what a plugin says of itself: {error}");
        }
        Ok(())
    }

    /// Keeps a text, and drops those that are of no pin.
    pub(super) fn keep_surface(&self, text: &str, pins: &Pins) -> io::Result<()> {
        let folder = self.folder().join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let wanted = name(Digest::of(text.as_bytes()));
        let path = folder.join(&wanted);
        if !path.exists() {
            let next = folder.join(format!("{wanted}.{}.next", std::process::id()));
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
            file.write_all(text.as_bytes())?;
            fs::rename(next, path)?;
        }
        let pinned: Vec<String> = pins.all().map(|(_, pin)| name(pin.surface)).collect();
        for entry in fs::read_dir(&folder)?.flatten() {
            let found = entry.file_name();
            let is = |name: &String| found.to_str() == Some(name);
            if !is(&wanted) && !pinned.iter().any(is) {
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

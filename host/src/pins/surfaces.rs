//! The surfaces of pinned versions, stored verbatim so that the next version can be compared.
//!
//! Decisions use the digest only: a lost or damaged text affects only what `status` can show.

use std::collections::HashSet;
use std::fs;
use std::io;

use super::file::PinFile;
use super::pin::Pins;
use crate::os::files;
use crate::os::private::{self, Durability};
use crate::plugin::Digest;

const FOLDER: &str = "surfaces";
/// Maximum bytes of one text. A surface has a few hundred KiB at most, and escaping adds to that.
const MAX_SIZE: u64 = 4 << 20;

impl PinFile {
    /// The stored surface with that digest.
    pub fn surface(&self, digest: Digest) -> Option<String> {
        let text = files::read_text(&self.folder().join(FOLDER).join(name(digest)), MAX_SIZE).ok()?;
        (Digest::of(text.as_bytes()) == digest).then_some(text)
    }

    /// Stores surfaces, and deletes those that no pin refers to.
    pub(super) fn store_surfaces<'a>(&self, texts: impl IntoIterator<Item = &'a str>, pins: &Pins) {
        if let Err(error) = self.try_store_surfaces(texts, pins) {
            tracing::warn!("failed to store tool descriptions: {error}");
        }
    }

    fn try_store_surfaces<'a>(&self, texts: impl IntoIterator<Item = &'a str>, pins: &Pins) -> io::Result<()> {
        let folder = self.folder().join(FOLDER);
        private::create_folder(&folder)?;
        let wanted: HashSet<String> = pins.all().map(|(_, pin)| name(pin.surface)).collect();
        for text in texts {
            let name = name(Digest::of(text.as_bytes()));
            let path = folder.join(&name);
            if wanted.contains(&name) && !path.exists() {
                let next = folder.join(format!("{name}.{}.next", std::process::id()));
                private::write(&next, &[text.as_bytes()], Durability::Deferred)?;
                fs::rename(next, path)?;
            }
        }
        for entry in fs::read_dir(&folder)?.flatten() {
            if entry.file_name().to_str().is_none_or(|found| !wanted.contains(found)) {
                // Another process may have removed it already.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

fn name(digest: Digest) -> String {
    format!("{digest}.json")
}

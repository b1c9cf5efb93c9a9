//! Looks through a folder: how much is in it, and whether there is what no plugin should meet.
//!
//! Follows no link. It goes by the folder's handle, so it stays in the folder that was opened,
//! wherever that is moved.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_primitives::fs::{Metadata, read_base_dir, read_dir};

use crate::os::entries::{self, is_foreign_link, special_kind};
use crate::os::stamp::Identity;
use crate::plugin::policy::grants::PrivateFile;

/// Entries that are looked at. It takes about a second where nothing of the folder is cached.
pub(super) const ENTRIES: u64 = 100_000;
/// Bytes that an entry counts beside its contents: about what an inode, a name and the unused
/// end of a file's last block take.
const ENTRY: u64 = 4 << 10;
/// Folders that hold keys, wherever they are.
pub(super) const KEYS: [&str; 3] = [".ssh", ".gnupg", ".aws"];

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Of files, by their lengths; a hole counts like what would fill it.
    pub(super) bytes: u64,
    pub(super) entries: u64,
}

impl Usage {
    /// Bytes that count towards a quota.
    pub(super) fn counted(self) -> u64 {
        self.bytes.saturating_add(self.entries.saturating_mul(ENTRY))
    }
}

/// What a look through a folder has found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) usage: Usage,
    /// There are more entries than were looked at.
    pub(super) cut: bool,
    /// The first thing that forbids to grant the folder: what it is, and where in it.
    pub(super) objection: Option<(String, PathBuf)>,
}

/// Looks through a folder as the user `own`, at so many entries at most. What of `private` is in
/// it under another name must not be met either.
///
/// # Errors
/// If a folder in it cannot be read for another reason than that it is gone or closed to us:
/// what is under it could not be counted.
pub(super) fn survey(root: &File, own: u32, most: u64, private: &[(Identity, &PrivateFile)]) -> io::Result<Survey> {
    let is_private = |metadata: &Metadata| {
        let found = entries::identity(metadata);
        private.iter().find(|(file, _)| Some(*file) == found).map(|(_, file)| format!("{} by another name", file.what))
    };
    let mut found = Survey::default();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = if folder.as_os_str().is_empty() { read_base_dir(root) } else { read_dir(root, &folder) };
        let entries = match entries {
            Err(error) if is_out_of_reach(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if found.usage.entries == most {
                found.cut = true;
                return Ok(found);
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let path = folder.join(entry.file_name());
            found.usage.entries += 1;
            if metadata.is_file() {
                found.usage.bytes = found.usage.bytes.saturating_add(metadata.len());
            }
            if found.objection.is_none()
                && let Some(what) =
                    objection(&path, &metadata, own).map(str::to_owned).or_else(|| is_private(&metadata))
            {
                found.objection = Some((what, path.clone()));
            }
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(found)
}

/// It went meanwhile, or the plugin could not read it either.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory)
}

fn objection(path: &Path, metadata: &Metadata, own: u32) -> Option<&'static str> {
    if metadata.is_dir() && path.file_name().is_some_and(|name| KEYS.iter().any(|keys| name.eq_ignore_ascii_case(keys)))
    {
        return Some("a folder of keys");
    }
    special_kind(metadata)
        .or_else(|| is_foreign_link(metadata, own).then_some("another user's file with several hard links"))
}

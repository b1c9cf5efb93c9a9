//! Surveys a folder: its usage, and entries that no plugin may access.
//!
//! Follows no link. It works on the folder's handle, so it stays in the folder that was opened,
//! even if that is moved.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_primitives::fs::{Metadata, ReadDir, open_dir, read_base_dir, read_dir};

use crate::os::entries::{self, is_foreign_link, special_kind};
use crate::os::stamp::Identity;
use crate::plugin::policy::grants::PrivateFile;

/// Maximum entries of a survey: about a second if nothing of the folder is cached.
pub(super) const ENTRIES: u64 = 100_000;
/// Bytes that an entry counts in addition to its contents: about what an inode, a name and the
/// unused end of a file's last block take.
const ENTRY: u64 = 4 << 10;
/// Bytes of a path that every system takes, with a name added: macOS has the least, 1,024 in all.
const PATH: usize = 700;
/// Names of folders with keys and credentials.
pub(super) const CREDENTIAL_FOLDERS: [&str; 3] = [".ssh", ".gnupg", ".aws"];

/// The usage of a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// The sum of the files' lengths, holes included.
    pub(super) bytes: u64,
    pub(super) entries: u64,
}

impl Usage {
    /// Bytes that count towards a quota.
    pub(super) fn counted(self) -> u64 {
        self.bytes.saturating_add(self.entries.saturating_mul(ENTRY))
    }
}

/// The result of a survey.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) usage: Usage,
    /// There are more entries than the limit.
    pub(super) cut: bool,
    /// The first entry that forbids granting the folder: what it is, and its path in the folder.
    pub(super) objection: Option<(String, PathBuf)>,
}

/// Surveys at most `limit` entries of a folder. `own` is this user's id. A file of `private`, found
/// by its identity under any name, forbids granting the folder.
///
/// # Errors
/// If a folder in it cannot be read, unless it was removed or this user has no access.
pub(super) fn survey(root: &File, own: u32, limit: u64, private: &[(Identity, &PrivateFile)]) -> io::Result<Survey> {
    let is_private = |metadata: &Metadata| {
        let found = entries::identity(metadata);
        private.iter().find(|(file, _)| Some(*file) == found).map(|(_, file)| format!("{} by another name", file.what))
    };
    let mut found = Survey::default();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match entries_of(root, &folder) {
            Err(error) if is_out_of_reach(&error) => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if found.usage.entries == limit {
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

/// The entries of a folder. Systems limit the length of a path, and a guest can nest folders deeper: from its own folder,
/// or from one that it has open.
fn entries_of(root: &File, folder: &Path) -> io::Result<ReadDir> {
    if folder.as_os_str().is_empty() {
        return read_base_dir(root);
    }
    let (mut at, mut part) = (None::<File>, PathBuf::new());
    for name in folder {
        if part.as_os_str().len() + name.len() >= PATH {
            at = Some(open_dir(at.as_ref().unwrap_or(root), &part)?);
            part.clear();
        }
        part.push(name);
    }
    read_dir(at.as_ref().unwrap_or(root), &part)
}

/// Whether it was removed meanwhile, or the plugin could not read it either.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory)
}

fn objection(path: &Path, metadata: &Metadata, own: u32) -> Option<&'static str> {
    if metadata.is_dir()
        && path
            .file_name()
            .is_some_and(|name| CREDENTIAL_FOLDERS.iter().any(|folder| name.eq_ignore_ascii_case(folder)))
    {
        return Some("a credentials folder");
    }
    special_kind(metadata)
        .or_else(|| is_foreign_link(metadata, own).then_some("another user's file with several hard links"))
}

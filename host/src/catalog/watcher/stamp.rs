//! Stamps that identify the state of a file, or a folder.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Size, modification time and inode: equal stamps mean no write in between. `None`: there is no file.
pub(super) type Stamp = Option<(u64, Option<SystemTime>, u64)>;

pub(super) fn of(path: &Path) -> Stamp {
    let file = fs::symlink_metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let inode = 0;
    Some((file.len(), file.modified().ok(), inode))
}

/// Device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

impl Identity {
    /// Of a folder; `None` where there is none.
    pub(super) fn of(folder: &Path, through_links: bool) -> Option<Self> {
        let found = if through_links { fs::metadata(folder) } else { fs::symlink_metadata(folder) };
        let found = found.ok().filter(fs::Metadata::is_dir)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Some(Self(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        {
            let _ = found;
            Some(Self(0, 0))
        }
    }
}

/// Whether an existing file was renamed or linked here: no close will follow.
pub(super) fn linked(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        fs::symlink_metadata(path).is_ok_and(|file| file.nlink() > 1 || !file.is_file())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

//! Files and folders of this user alone, and whom to trust with what others may have written.
//!
//! One way to open, make and replace them for all that Wharf keeps.

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::files::{self, FileError, Links};
use super::system;

pub(crate) use super::system::sync_folder;

/// What a file or folder is for, which says who else may write it.
///
/// On Windows nobody is asked: the lists that say who may write there are inherited from the
/// user's own folders, which others cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// What Wharf keeps for itself: it is of this user, whose group cannot write it either.
    Own,
    /// A folder for such files that people choose, whoever it belongs to: others may write in it
    /// if they cannot replace files there (a sticky folder).
    Around,
    /// What people and installers put there: it is of this user or of root. The user's private
    /// group may write it, since with such groups files are made so; in a sticky folder anybody
    /// may make files.
    Installed,
}

/// Why something may have been written by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distrust {
    OtherOwner,
    OthersWrite,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherOwner => "it belongs to another user",
            Self::OthersWrite => "others can write to it: take that right from them (chmod go-w)",
        })
    }
}

/// Why a file or folder is not to be trusted.
pub(crate) fn distrust(found: &Metadata, rule: Rule) -> Option<Distrust> {
    if system::is_foreign(found, rule) {
        return Some(Distrust::OtherOwner);
    }
    others_can_write(found, rule).then_some(Distrust::OthersWrite)
}

/// Whether others can write a file or put something into a folder, as far as the rule minds.
pub(crate) fn others_can_write(found: &Metadata, rule: Rule) -> bool {
    system::others_can_write(found, rule)
}

/// What a private file is opened for. Those that are written are made if they are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    Reading,
    /// To read it and to write at its end.
    Appending,
    /// To lock it; nothing is in it.
    Locking,
}

/// Opens a private file: a regular one, by no link, and to be trusted by [`Rule::Own`].
pub(crate) fn open(path: &Path, how: For) -> Result<(File, Metadata), FileError> {
    let mut options = OpenOptions::new();
    match how {
        For::Reading => options.read(true),
        For::Appending => options.read(true).append(true).create(true),
        For::Locking => options.write(true).create(true),
    };
    let (file, found) = files::open_with(system::for_this_user(&mut options), path, Links::NotFollowed)?;
    match distrust(&found, Rule::Own) {
        None => Ok((file, found)),
        Some(why) => Err(FileError::Untrusted(why)),
    }
}

/// Makes a folder for this user alone, and those above it, as far as they are not there.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    system::folder_for_this_user(DirBuilder::new().recursive(true)).create(path)
}

/// The same, and sees that it is a folder to be trusted by [`Rule::Own`].
pub(crate) fn own_folder(path: &Path) -> io::Result<()> {
    make_folder(path)?;
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is of the wrong kind"));
    }
    distrust(&found, Rule::Own).map_or(Ok(()), |why| Err(FileError::Untrusted(why).into()))
}

/// Makes an empty private file. It must not be there yet.
pub(crate) fn make(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    system::for_this_user(&mut options).open(path)
}

/// When a file that was just written is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisk {
    /// Before anything else happens.
    Now,
    /// When the system gets to it.
    Later,
}

/// Makes a private file of these parts; one that a process left there when it was killed goes. It
/// gets its place, where readers see the old file or the new one, by being renamed.
pub(crate) fn write(path: &Path, parts: &[&[u8]], on_disk: OnDisk) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = make(path)?;
    let synced = |file: &File| if on_disk == OnDisk::Now { file.sync_all() } else { Ok(()) };
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| synced(&file));
    written.inspect_err(|_| {
        // What it takes of a full disk, others need.
        let _ = fs::remove_file(path);
    })
}

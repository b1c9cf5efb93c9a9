//! Private files and folders, and the trust rules for files that other users may have written.
//!
//! Everything that Wharf stores is opened, created and replaced here, and what decides for it is read here: its
//! configuration and secrets.

use std::fmt;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use wharf_report::shell_word;

use super::files::{self, FileError, Links};
use super::paths::folder_of;
use super::system;

pub(crate) use super::system::sync_folder;

/// Who may own and write a file or folder.
///
/// Not checked on Windows: access control lists are inherited from the user's own folders, which others
/// cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// For Wharf's own files: owned by this user, and not writable by its group or others.
    Own,
    /// For a configured folder that contains such files: any owner, and writable by others only if it is
    /// sticky, so that they cannot replace files.
    Container,
    /// For files that people and installers create: owned by this user or root. The user's private group
    /// may write, since files are created so where such groups exist; in a sticky folder anyone may
    /// create files.
    Installed,
}

/// Why other users may have written a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distrust {
    OtherOwner,
    OthersWrite,
}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherOwner => "it belongs to another user",
            Self::OthersWrite => "other users can write to it: remove that permission (chmod go-w)",
        })
    }
}

/// Why a file or folder is not trusted; `None` if it is.
pub(crate) fn distrust(found: &Metadata, rule: Rule) -> Option<Distrust> {
    if system::is_foreign(found, rule) {
        return Some(Distrust::OtherOwner);
    }
    others_can_write(found, rule).then_some(Distrust::OthersWrite)
}

/// Whether others can write a file or folder in a way that the rule forbids.
pub(crate) fn others_can_write(found: &Metadata, rule: Rule) -> bool {
    system::others_can_write(found, rule)
}

/// How a private file is opened. `Append` and `Lock` create a missing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    Read,
    /// Read and append.
    Append,
    /// For an empty lock file.
    Lock,
}

/// Opens a private file: a regular file, not through a link, and trusted by [`Rule::Own`].
pub(crate) fn open(path: &Path, mode: OpenMode) -> Result<(File, Metadata), FileError> {
    let mut options = OpenOptions::new();
    match mode {
        OpenMode::Read => options.read(true),
        OpenMode::Append => options.read(true).append(true).create(true),
        OpenMode::Lock => options.write(true).create(true),
    };
    let (file, found) = files::open_with(system::private_file(&mut options), path, Links::NotFollowed)?;
    match distrust(&found, Rule::Own) {
        None => Ok((file, found)),
        Some(why) => Err(FileError::Untrusted(why)),
    }
}

/// The bytes of a file, at most `max_size`, that decides what Wharf does or whom it trusts; links are followed,
/// and the file and its folder must be trusted by [`Rule::Installed`].
pub(crate) fn read(path: &Path, max_size: u64) -> Result<Vec<u8>, FileError> {
    let (file, found) = files::open(path, Links::Followed)?;
    if let Some(why) = distrust(&found, Rule::Installed) {
        return Err(FileError::Untrusted(why));
    }
    // Where the path is, and where its links lead.
    for place in [path, &fs::canonicalize(path)?] {
        let Some(folder) = folder_of(place) else { continue };
        if let Some(why) = distrust(&fs::metadata(folder)?, Rule::Installed) {
            return Err(FileError::UntrustedFolder { why, folder: folder.to_owned() });
        }
    }
    files::read_opened(file, &found, max_size)
}

/// As [`read`], for UTF-8 text.
pub(crate) fn read_text(path: &Path, max_size: u64) -> Result<String, FileError> {
    files::text(read(path, max_size)?)
}

/// The hint for a file that is not trusted; `None` for other errors.
pub(crate) fn repair(error: &FileError, path: &Path) -> Option<String> {
    let (why, path) = match error {
        FileError::Untrusted(why) => (why, path),
        FileError::UntrustedFolder { why, folder } => (why, folder.as_path()),
        _ => return None,
    };
    let command = match why {
        Distrust::OtherOwner => "sudo chown \"$(id -un)\"",
        Distrust::OthersWrite => "chmod go-w",
    };
    Some(format!(
        "check the content of the file, then run: {command} {}; a running server reads it again at its next start, \
         those of [server.http] and [secrets] also at SIGHUP",
        shell_word(path)
    ))
}

/// Creates a private folder and its missing parents.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    system::private_folder(DirBuilder::new().recursive(true)).create(path)
}

/// As [`create_folder`], and checks that the folder is trusted by [`Rule::Own`].
pub(crate) fn create_trusted_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    check_own_folder(path)
}

/// Whether a folder is trusted by [`Rule::Own`], and is no link.
fn check_own_folder(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not a folder"));
    }
    distrust(&found, Rule::Own).map_or(Ok(()), |why| Err(FileError::Untrusted(why).into()))
}

/// Checks that a folder is trusted by [`Rule::Own`], and that no others can write to the folders that it is in and put
/// another one in its place: where the path is, and where its links lead.
pub(crate) fn check_place(path: &Path) -> io::Result<()> {
    check_own_folder(path)?;
    let real = fs::canonicalize(path)?;
    let around = path.ancestors().skip(1).chain(real.ancestors().skip(1));
    for folder in around.filter(|folder| !folder.as_os_str().is_empty()) {
        if others_can_write(&fs::metadata(folder)?, Rule::Installed) {
            return Err(FileError::UntrustedFolder { why: Distrust::OthersWrite, folder: folder.to_owned() }.into());
        }
    }
    Ok(())
}

/// Creates an empty private file.
///
/// # Errors
/// If it exists already, or cannot be created.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    system::private_file(&mut options).open(path)
}

/// When a written file reaches the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Before the call returns.
    Synced,
    /// When the system writes it back.
    Deferred,
}

/// Replaces a file atomically, or creates it and its folder privately. A link is followed, and an existing file
/// keeps its permissions: another user may have been allowed to read it.
pub(crate) fn replace_text(path: &Path, text: &str) -> io::Result<()> {
    let (path, permissions) = match fs::canonicalize(path) {
        Ok(path) => (path.clone(), Some(fs::metadata(&path)?.permissions())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => (path.to_owned(), None),
        Err(error) => return Err(error),
    };
    let folder = folder_of(&path).unwrap_or(Path::new("."));
    create_folder(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.next", std::process::id()));
    let next = folder.join(name);
    write(&next, &[text.as_bytes()], Durability::Synced)?;
    let replace = || {
        if let Some(permissions) = permissions {
            fs::set_permissions(&next, permissions)?;
        }
        fs::rename(&next, &path)
    };
    replace().inspect_err(|_| {
        let _ = fs::remove_file(&next);
    })?;
    sync_folder(folder)
}

/// Writes a private temporary file of these parts, in place of one that a killed process left behind.
/// The caller then renames it, so that readers see either the old file or the new one.
pub(crate) fn write(path: &Path, parts: &[&[u8]], durability: Durability) -> io::Result<()> {
    let _ = fs::remove_file(path);
    let mut file = create(path)?;
    let synced = |file: &File| if durability == Durability::Synced { file.sync_all() } else { Ok(()) };
    let written = parts.iter().try_for_each(|part| file.write_all(part)).and_then(|()| synced(&file));
    written.inspect_err(|_| {
        // The disk may be full: free the space.
        let _ = fs::remove_file(path);
    })
}

//! Opens files and folders for guests.
//!
//! Never blocks: a FIFO or a device that replaces a file at the last moment is opened without
//! blocking, checked, and closed again.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_primitives::fs::{self as within, FollowSymlinks, Metadata, OpenOptions};
use wasmtime_wasi::{FsPerms, OpenMode, filesystem};

use super::bindings::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use super::ledger::Ledger;
use crate::os::Errno;
use crate::os::entries::{is_foreign_link, set_nonblocking, special_kind, this_user};

/// A guest's request to open a path.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) at: PathFlags,
    pub(super) how: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl Request {
    /// Whether it may change the folder, or return a handle that does.
    pub(super) fn writes(&self) -> bool {
        self.how.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE) || self.flags.contains(DescriptorFlags::WRITE)
    }

    /// The mode of the handle.
    fn mode(&self) -> OpenMode {
        let write = if self.writes() { OpenMode::WRITE } else { OpenMode::empty() };
        let read = self.flags.contains(DescriptorFlags::READ) || !self.flags.contains(DescriptorFlags::WRITE);
        if read { write | OpenMode::READ } else { write }
    }

    /// Opens it in `dir`, a read-only folder.
    ///
    /// # Errors
    /// `EPERM` if the request writes; otherwise the system's.
    pub(super) fn open(&self, dir: &File) -> io::Result<Descriptor> {
        self.check()?;
        if self.writes() {
            return Err(Errno::PERM.into());
        }
        self.look(dir)?;
        self.existing(dir, FsPerms::ReadOnly)
    }

    /// Opens or creates it in `dir`, a writable folder.
    ///
    /// # Errors
    /// `EDQUOT` if that would exceed the quota; otherwise the system's.
    pub(super) fn open_counted(&self, dir: &File, ledger: &mut Ledger) -> io::Result<Descriptor> {
        self.check()?;
        let there = self.look(dir)?;
        let create = self.how.contains(OpenFlags::CREATE);
        if create && there && self.how.contains(OpenFlags::EXCLUSIVE) {
            return Err(Errno::EXIST.into());
        }
        let opened = if create && !there {
            let mut options = self.options();
            let file = ledger.create(|| within::open(dir, Path::new(&self.path), options.create_new(true)))?;
            opened(file, FsPerms::ReadWrite, self.mode())?
        } else {
            self.existing(dir, FsPerms::ReadWrite)?
        };
        if let Descriptor::File(file) = &opened {
            if self.how.contains(OpenFlags::TRUNCATE) {
                ledger.set_size(&file.file, 0)?;
            }
            ledger.opened(&file.file)?;
        }
        Ok(opened)
    }

    fn check(&self) -> io::Result<()> {
        let synchronous = DescriptorFlags::FILE_INTEGRITY_SYNC
            | DescriptorFlags::DATA_INTEGRITY_SYNC
            | DescriptorFlags::REQUESTED_WRITE_SYNC;
        if self.flags.intersects(synchronous) {
            return Err(Errno::NOTSUP.into());
        }
        let makes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
        if self.how.contains(OpenFlags::DIRECTORY) && self.how.intersects(makes) {
            return Err(Errno::INVAL.into());
        }
        Ok(())
    }

    /// Whether it exists; an error for what must not be opened, since opening some devices has side
    /// effects.
    fn look(&self, dir: &File) -> io::Result<bool> {
        let follow = if self.at.contains(PathFlags::SYMLINK_FOLLOW) { FollowSymlinks::Yes } else { FollowSymlinks::No };
        let found = match within::stat(dir, Path::new(&self.path), follow) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            found => found?,
        };
        if found.file_type().is_symlink() {
            return Err(Errno::LOOP.into());
        }
        if self.how.contains(OpenFlags::DIRECTORY) && !found.is_dir() {
            return Err(Errno::NOTDIR.into());
        }
        allowed(&found).map(|()| true)
    }

    /// Opens it, and checks again: it may have been replaced since.
    pub(super) fn existing(&self, dir: &File, perms: FsPerms) -> io::Result<Descriptor> {
        opened(within::open(dir, Path::new(&self.path), &self.options())?, perms, self.mode())
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(self.mode().contains(OpenMode::READ)).write(self.mode().contains(OpenMode::WRITE));
        set_nonblocking(&mut options);
        options
    }
}

fn opened(file: File, perms: FsPerms, mode: OpenMode) -> io::Result<Descriptor> {
    let metadata = Metadata::from_file(&file)?;
    allowed(&metadata)?;
    Ok(if metadata.is_dir() {
        Descriptor::Dir(filesystem::Dir::new(file, perms, mode, false))
    } else {
        Descriptor::File(filesystem::File::new(file, perms, mode, false))
    })
}

fn allowed(metadata: &Metadata) -> io::Result<()> {
    if special_kind(metadata).is_some() || is_foreign_link(metadata, this_user()) {
        return Err(Errno::ACCESS.into());
    }
    Ok(())
}

//! `wasi:filesystem` for granted folders.
//!
//! Reading is the engine's implementation, which stays within the folder. Opening and changing are
//! implemented here: they must not block, and changes count against the quota.

pub(super) mod bindings;
mod folder;
mod folders;
mod ledger;
mod open;
mod personal;
mod protected;
mod survey;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use cap_primitives::fs::read_base_dir;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::runtime;

use super::state::GuestState;
use crate::os::Errno;
use bindings::{
    Advice, Descriptor, DescriptorCalls, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCalls, ErrorCode, Filesize, ListingCalls, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags, PreopenCalls,
};
pub(in crate::plugin) use folder::Folder;
pub use folder::objection as folder_objection;
pub(in crate::plugin) use folders::{Folders, Opened};
use open::Request;
pub use personal::folder_of;
pub use protected::ProtectedFolders;
use writer::FileWriter;

/// Maximum files and folders that one call has open.
const MAX_OPEN: usize = 64;
/// Maximum files and folders that all calls together have open: a process has a limit, too, often
/// 1024 with its connections included.
pub(in crate::plugin) const MAX_OPEN_IN_ALL: usize = 256;
/// Maximum entries in the open listings of one call; the host holds them in memory.
const MAX_LISTED: usize = 50_000;

/// The open handles of a call.
#[derive(Default)]
pub(in crate::plugin) struct OpenHandles {
    /// The granted folder of each descriptor, by handle.
    folders: BTreeMap<u32, Arc<Folder>>,
    /// The length of each listing, by handle.
    listings: BTreeMap<u32, usize>,
    /// Open files with their permits. A stream keeps a file open after its descriptor is dropped.
    open: Vec<(Weak<File>, OwnedSemaphorePermit)>,
}

fn descriptor_file(descriptor: &Descriptor) -> &Arc<File> {
    match descriptor {
        Descriptor::File(file) => &file.file,
        Descriptor::Dir(dir) => &dir.dir,
    }
}

/// Converts an error for the guest.
fn guest_error(error: io::Error) -> FsError {
    if error.raw_os_error() == Some(Errno::DQUOT.raw_os_error()) { ErrorCode::Quota.into() } else { error.into() }
}

impl GuestState {
    fn folder(&self, descriptor: &Resource<Descriptor>) -> wasmtime::Result<Arc<Folder>> {
        let folder = self.held.folders.get(&descriptor.rep());
        folder.cloned().ok_or_else(|| wasmtime::format_err!("a descriptor of no folder"))
    }

    /// The granted folder of a descriptor, to change it.
    fn folder_to_change(&self, descriptor: &Resource<Descriptor>) -> FsResult<Arc<Folder>> {
        let folder = self.folder(descriptor).map_err(FsError::trap)?;
        if !folder.is_writable() {
            self.granted.deny_change(self.events.as_deref(), &folder.guest);
            return Err(ErrorCode::NotPermitted.into());
        }
        Ok(folder)
    }

    fn dir_of(&mut self, descriptor: &Resource<Descriptor>) -> FsResult<Arc<File>> {
        match self.table().get(descriptor)? {
            Descriptor::Dir(dir) => Ok(dir.dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn file_of(&mut self, descriptor: &Resource<Descriptor>) -> FsResult<Arc<File>> {
        match self.table().get(descriptor)? {
            Descriptor::File(file) => Ok(file.file.clone()),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    /// A stream that writes into a file from `at`, or at its end.
    fn writer(&mut self, fd: &Resource<Descriptor>, at: Option<u64>) -> FsResult<Resource<DynOutputStream>> {
        let folder = self.folder_to_change(fd)?;
        let file = self.file_of(fd)?;
        let writer: DynOutputStream = Box::new(FileWriter::new(folder, file, at));
        Ok(self.table().push(writer)?)
    }

    /// A permit for one more open file.
    fn acquire_file(&mut self) -> FsResult<OwnedSemaphorePermit> {
        self.held.open.retain(|(file, _)| file.strong_count() > 0);
        if self.held.open.len() >= MAX_OPEN {
            return Err(ErrorCode::Busy.into());
        }
        self.granted.files.clone().try_acquire_owned().map_err(|_| ErrorCode::Busy.into())
    }
}

impl PreopenCalls for GuestState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let granted = self.granted.clone();
        // The guest's own library maps paths to folders, so the folder that it needs is not known.
        granted.deny_unavailable_folders(self.events.as_deref());
        if let Some(events) = self.events.as_ref().filter(|_| granted.grants.folders.is_empty()) {
            events.find_no_folder();
        }
        let opened = granted.folders();
        let folders = opened.iter().flat_map(|opened| opened.given()).map(|folder| {
            let handle = self.table().push(Descriptor::Dir(folder.dir.clone()))?;
            self.held.folders.insert(handle.rep(), folder.clone());
            Ok((handle, folder.guest.clone()))
        });
        folders.collect()
    }
}

impl ErrorCalls for GuestState {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table().get(&error)?.downcast_ref::<io::Error>();
        Ok(match error {
            Some(error) if error.raw_os_error() == Some(Errno::DQUOT.raw_os_error()) => Some(ErrorCode::Quota),
            error => error.map(ErrorCode::from),
        })
    }
}

impl DescriptorCalls for GuestState {
    async fn open_at(
        &mut self,
        fd: Resource<Descriptor>,
        at: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let request = Request { path, at, how, flags };
        let folder =
            if request.writes() { self.folder_to_change(&fd)? } else { self.folder(&fd).map_err(FsError::trap)? };
        let dir = self.dir_of(&fd)?;
        let permit = self.acquire_file()?;
        let opened = if folder.is_writable() {
            folder.change(move |ledger| request.open_counted(&dir, ledger)).await
        } else {
            runtime::spawn_blocking(move || request.open(&dir)).await
        };
        let opened = opened.map_err(guest_error)?;
        self.held.open.push((Arc::downgrade(descriptor_file(&opened)), permit));
        let handle = self.table().push(opened)?;
        self.held.folders.insert(handle.rep(), folder);
        Ok(handle)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.held.folders.remove(&fd.rep());
        DescriptorCalls::drop(&mut self.filesystem(), fd)
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, at: Filesize) -> FsResult<Filesize> {
        let file = self.file_of(&fd)?;
        let folder = self.folder_to_change(&fd)?;
        let written = bytes.len() as Filesize;
        folder.change(move |ledger| ledger.write(&file, &bytes, Some(at))).await.map_err(guest_error)?;
        Ok(written)
    }

    fn write_via_stream(&mut self, fd: Resource<Descriptor>, at: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Some(at))
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, None)
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        let file = self.file_of(&fd)?;
        let folder = self.folder_to_change(&fd)?;
        folder.change(move |ledger| ledger.set_size(&file, size)).await.map_err(guest_error)
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_of(&fd)?;
        let folder = self.folder_to_change(&fd)?;
        folder.change(move |ledger| ledger.create_folder(&dir, Path::new(&path))).await.map_err(guest_error)
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_of(&fd)?;
        let folder = self.folder_to_change(&fd)?;
        folder.change(move |ledger| ledger.remove_folder(&dir, Path::new(&path))).await.map_err(guest_error)
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_of(&fd)?;
        let folder = self.folder_to_change(&fd)?;
        folder.change(move |ledger| ledger.remove_file(&dir, Path::new(&path))).await.map_err(guest_error)
    }

    /// Only within one granted folder: each has its own ledger.
    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old: String,
        new_fd: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        let (dir, new_dir) = (self.dir_of(&fd)?, self.dir_of(&new_fd)?);
        let folder = self.folder_to_change(&fd)?;
        let new_folder = self.folder_to_change(&new_fd)?;
        if !Arc::ptr_eq(&folder, &new_folder) {
            return Err(ErrorCode::CrossDevice.into());
        }
        let rename = folder.change(move |ledger| ledger.rename((&dir, Path::new(&old)), (&new_dir, Path::new(&new))));
        rename.await.map_err(guest_error)
    }

    /// Denied: a hard link could make a file reachable from outside of the folder.
    async fn link_at(
        &mut self,
        _: Resource<Descriptor>,
        _: PathFlags,
        _: String,
        _: Resource<Descriptor>,
        _: String,
    ) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    /// Denied: other programs would follow it out of the folder.
    async fn symlink_at(&mut self, _: Resource<Descriptor>, _: String, _: String) -> FsResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    /// A link's target is opened first: the system may have to open it, and must not block then.
    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        at: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.folder_to_change(&fd)?;
        if !at.contains(PathFlags::SYMLINK_FOLLOW) {
            return self.filesystem().set_times_at(fd, at, path, accessed, modified).await;
        }
        let opened = self.open_at(fd, at, path, OpenFlags::empty(), DescriptorFlags::READ).await?;
        let set = self.filesystem().set_times(Resource::new_borrow(opened.rep()), accessed, modified).await;
        DescriptorCalls::drop(self, opened).map_err(FsError::trap)?;
        set
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let dir = self.dir_of(&fd)?;
        let free = MAX_LISTED.saturating_sub(self.held.listings.values().sum());
        let count = runtime::spawn_blocking(move || Ok::<_, io::Error>(read_base_dir(&dir)?.take(free + 1).count()));
        let count = count.await?;
        if count > free {
            return Err(ErrorCode::InsufficientMemory.into());
        }
        let listing = self.filesystem().read_directory(fd).await?;
        self.held.listings.insert(listing.rep(), count);
        Ok(listing)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.filesystem().advise(fd, offset, length, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.filesystem().sync_data(fd).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        self.filesystem().sync(fd).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        self.filesystem().get_flags(fd).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        self.filesystem().get_type(fd).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.folder_to_change(&fd)?;
        self.filesystem().set_times(fd, accessed, modified).await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.filesystem().read(fd, length, offset).await
    }

    fn read_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.filesystem().read_via_stream(fd, offset)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        self.filesystem().stat(fd).await
    }

    async fn stat_at(&mut self, fd: Resource<Descriptor>, at: PathFlags, path: String) -> FsResult<DescriptorStat> {
        self.filesystem().stat_at(fd, at, path).await
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        self.filesystem().readlink_at(fd, path).await
    }

    async fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        self.filesystem().is_same_object(a, b).await
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        self.filesystem().metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        at: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.filesystem().metadata_hash_at(fd, at, path).await
    }
}

impl ListingCalls for GuestState {
    async fn read_directory_entry(
        &mut self,
        listing: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.filesystem().read_directory_entry(listing).await
    }

    fn drop(&mut self, listing: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.held.listings.remove(&listing.rep());
        ListingCalls::drop(&mut self.filesystem(), listing)
    }
}

//! `wasi:filesystem` for granted folders.
//!
//! Reading is the engine's implementation, which stays within the folder. Opening and changing are
//! implemented here: they must not block, and changes count against the quota. All of it goes through the call's tape.

pub(super) mod bindings;
mod folder;
mod folders;
mod ledger;
mod open;
pub(super) mod p3;
mod personal;
mod protected;
mod survey;
mod taped;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use cap_primitives::fs::read_base_dir;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::WasiFilesystemView as _;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};
use wasmtime_wasi::runtime;

use super::state::GuestState;
use crate::plugin::tape::Tape;
use crate::plugin::tape::kept::{self, Kept};
use bindings::{
    Advice, Descriptor, DescriptorCalls, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry,
    DirectoryEntryStream, ErrorCalls, ErrorCode, Filesize, ListingCalls, MetadataHashValue, NewTimestamp, OpenFlags,
    PathFlags, PreopenCalls, code_of,
};
pub(in crate::plugin) use folder::Folder;
pub use folder::objection as folder_objection;
pub(in crate::plugin) use folders::{Folders, Opened};
use ledger::Ledger;
use open::Request;
pub use personal::folder_of;
pub use protected::ProtectedFolders;
use taped::{Failed, GivenFolders, Question, TapedInput, TapedOutput};
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
    /// What each handle is called in the tape of the call, if it has one.
    names: BTreeMap<u32, Arc<str>>,
    /// Open files with their permits. A stream keeps a file open after its descriptor is dropped.
    open: Vec<(Weak<File>, OwnedSemaphorePermit)>,
    /// Permits for entries of listings that are streams, made with the first.
    listed: Option<Arc<Semaphore>>,
}

/// What a guest may open.
struct Opening {
    folder: Arc<Folder>,
    dir: Arc<File>,
    permit: OwnedSemaphorePermit,
    request: Request,
}

/// What was opened, with its permit.
struct Held {
    descriptor: Descriptor,
    folder: Arc<Folder>,
    permit: OwnedSemaphorePermit,
}

impl Opening {
    async fn run(self) -> FsResult<Held> {
        let Self { folder, dir, permit, request } = self;
        let opened = if folder.is_writable() {
            folder.change(move |ledger| request.open_counted(&dir, ledger)).await
        } else {
            runtime::spawn_blocking(move || request.open(&dir)).await
        };
        Ok(Held { descriptor: opened.map_err(guest_error)?, folder, permit })
    }
}

fn descriptor_file(descriptor: &Descriptor) -> &Arc<File> {
    match descriptor {
        Descriptor::File(file) => &file.file,
        Descriptor::Dir(dir) => &dir.dir,
    }
}

fn guest_error(error: io::Error) -> FsError {
    code_of(&error).into()
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
        let question = self.question("file write from", fd.rep(), || at.keep());
        let name = self.file_name(fd.rep());
        let mut real = None;
        Question::answered_now(question, || {
            let folder = self.folder_to_change(fd)?;
            let file = self.file_of(fd)?;
            real = Some(Box::new(FileWriter::new(folder, file, at)) as DynOutputStream);
            Ok(())
        })?;
        let writer: DynOutputStream = match self.tape.clone() {
            Some(tape) => Box::new(TapedOutput { tape, name, real }),
            None => real.ok_or(ErrorCode::Io)?,
        };
        Ok(self.table().push(writer)?)
    }

    /// Changes what is at a path below a folder.
    async fn change_at(
        &mut self,
        what: &'static str,
        fd: Resource<Descriptor>,
        path: String,
        change: fn(&mut Ledger, &File, &Path) -> io::Result<()>,
    ) -> FsResult<()> {
        let question = self.question(what, fd.rep(), || path.keep());
        Question::answered(question, async {
            let dir = self.dir_of(&fd)?;
            let folder = self.folder_to_change(&fd)?;
            folder.change(move |ledger| change(ledger, &dir, Path::new(&path))).await.map_err(guest_error)
        })
        .await
    }

    async fn open(&mut self, fd: &Resource<Descriptor>, request: Request) -> FsResult<Resource<Descriptor>> {
        let opened = self.opening(fd, request)?.run().await?;
        self.hold(opened)
    }

    /// Checks whether the guest may open that.
    fn opening(&mut self, fd: &Resource<Descriptor>, request: Request) -> FsResult<Opening> {
        let folder =
            if request.writes() { self.folder_to_change(fd)? } else { self.folder(fd).map_err(FsError::trap)? };
        Ok(Opening { folder, dir: self.dir_of(fd)?, permit: self.acquire_file()?, request })
    }

    /// A handle of what was opened.
    fn hold(&mut self, opened: Held) -> FsResult<Resource<Descriptor>> {
        let Held { descriptor, folder, permit } = opened;
        self.held.open.push((Arc::downgrade(descriptor_file(&descriptor)), permit));
        let handle = self.table().push(descriptor)?;
        self.held.folders.insert(handle.rep(), folder);
        Ok(handle)
    }

    async fn list(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
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

    /// The granted folders, and why others cannot be used.
    fn give_folders(&mut self) -> wasmtime::Result<GivenFolders<Descriptor>> {
        let granted = self.granted.clone();
        // The guest's own library maps paths to folders, so the folder that it needs is not known.
        granted.deny_unavailable_folders(self.events.as_deref());
        if let Some(events) = self.events.as_ref().filter(|_| granted.grants.folders.is_empty()) {
            events.find_no_folder();
        }
        let opened = granted.folders();
        let problems = opened.iter().flat_map(|opened| opened.problems()).map(ToString::to_string).collect();
        let folders = opened.iter().flat_map(|opened| opened.given()).map(|folder| {
            let handle = self.table().push(Descriptor::Dir(folder.dir.clone()))?;
            self.held.folders.insert(handle.rep(), folder.clone());
            Ok((handle, folder.guest.clone()))
        });
        Ok((folders.collect::<wasmtime::Result<_>>()?, problems))
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
        match self.tape.clone().filter(Tape::has_folders) {
            Some(tape) => self.taped_folders(&tape, Self::give_folders),
            None => Ok(self.give_folders()?.0),
        }
    }
}

impl ErrorCalls for GuestState {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(&mut self, error: Resource<wasmtime::Error>) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table().get(&error)?;
        Ok(match error.downcast_ref::<Failed>() {
            Some(taped) => taped.code,
            None => error.downcast_ref::<io::Error>().map(code_of),
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
        let question = self.question(
            "file open",
            fd.rep(),
            || json!({"path": path, "follow": follows(at), "how": how.keep(), "for": flags.keep()}),
        );
        let name = self.tape.as_ref().map(|_| format!("{}/{path}", self.file_name(fd.rep())));
        let mut opened = None;
        Question::answered(question, async {
            opened = Some(self.open(&fd, Request { path, at, how, flags }).await?);
            Ok(())
        })
        .await?;
        let opened = opened.map_or_else(|| self.played(), Ok).map_err(FsError::trap)?;
        if let Some(name) = name {
            self.name_file(opened.rep(), name);
        }
        Ok(opened)
    }

    fn drop(&mut self, fd: Resource<Descriptor>) -> wasmtime::Result<()> {
        if self.drop_played(fd.rep()) {
            return Ok(());
        }
        self.held.folders.remove(&fd.rep());
        DescriptorCalls::drop(&mut self.filesystem(), fd)
    }

    async fn write(&mut self, fd: Resource<Descriptor>, bytes: Vec<u8>, at: Filesize) -> FsResult<Filesize> {
        let question = self.question("file write", fd.rep(), || json!({"at": at, "bytes": kept::bytes(&bytes)}));
        Question::answered(question, async {
            let file = self.file_of(&fd)?;
            let folder = self.folder_to_change(&fd)?;
            let written = bytes.len() as Filesize;
            folder.change(move |ledger| ledger.write(&file, &bytes, Some(at))).await.map_err(guest_error)?;
            Ok(written)
        })
        .await
    }

    fn write_via_stream(&mut self, fd: Resource<Descriptor>, at: Filesize) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, Some(at))
    }

    fn append_via_stream(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DynOutputStream>> {
        self.writer(&fd, None)
    }

    async fn set_size(&mut self, fd: Resource<Descriptor>, size: Filesize) -> FsResult<()> {
        let question = self.question("file set size", fd.rep(), || size.into());
        Question::answered(question, async {
            let file = self.file_of(&fd)?;
            let folder = self.folder_to_change(&fd)?;
            folder.change(move |ledger| ledger.set_size(&file, size)).await.map_err(guest_error)
        })
        .await
    }

    async fn create_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.change_at("file create folder", fd, path, Ledger::create_folder).await
    }

    async fn remove_directory_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.change_at("file remove folder", fd, path, Ledger::remove_folder).await
    }

    async fn unlink_file_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<()> {
        self.change_at("file remove", fd, path, Ledger::remove_file).await
    }

    /// Only within one granted folder: each has its own ledger.
    async fn rename_at(
        &mut self,
        fd: Resource<Descriptor>,
        old: String,
        new_fd: Resource<Descriptor>,
        new: String,
    ) -> FsResult<()> {
        let to = self.file_name(new_fd.rep());
        let question = self.question("file rename", fd.rep(), || json!([old, &*to, new]));
        Question::answered(question, async {
            let (dir, new_dir) = (self.dir_of(&fd)?, self.dir_of(&new_fd)?);
            let folder = self.folder_to_change(&fd)?;
            let new_folder = self.folder_to_change(&new_fd)?;
            if !Arc::ptr_eq(&folder, &new_folder) {
                return Err(ErrorCode::CrossDevice.into());
            }
            let rename =
                folder.change(move |ledger| ledger.rename((&dir, Path::new(&old)), (&new_dir, Path::new(&new))));
            rename.await.map_err(guest_error)
        })
        .await
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

    /// What is there is opened first: the system may have to open it, and must not block then. A link has no times of its
    /// own to set: the process of a plugin may not ask for that by a path.
    async fn set_times_at(
        &mut self,
        fd: Resource<Descriptor>,
        at: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let times = || json!([path, follows(at), accessed.keep(), modified.keep()]);
        let question = self.question("file set times", fd.rep(), times);
        Question::answered(question, async {
            self.folder_to_change(&fd)?;
            let request = Request { path, at, how: OpenFlags::empty(), flags: DescriptorFlags::READ };
            let opened = self.open(&fd, request).await?;
            let set = self.filesystem().set_times(Resource::new_borrow(opened.rep()), accessed, modified).await;
            DescriptorCalls::drop(self, opened).map_err(FsError::trap)?;
            set
        })
        .await
    }

    async fn read_directory(&mut self, fd: Resource<Descriptor>) -> FsResult<Resource<DirectoryEntryStream>> {
        let question = self.question("file list", fd.rep(), || Value::Null);
        let name = self.file_name(fd.rep());
        let mut listing = None;
        Question::answered(question, async {
            listing = Some(self.list(fd).await?);
            Ok(())
        })
        .await?;
        let listing = listing.map_or_else(|| self.played(), Ok).map_err(FsError::trap)?;
        self.name_file(listing.rep(), name);
        Ok(listing)
    }

    async fn advise(
        &mut self,
        fd: Resource<Descriptor>,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        let question = self.question("file advise", fd.rep(), || json!([offset, length]));
        Question::answered(question, self.filesystem().advise(fd, offset, length, advice)).await
    }

    async fn sync_data(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        let question = self.question("file sync data", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().sync_data(fd)).await
    }

    async fn sync(&mut self, fd: Resource<Descriptor>) -> FsResult<()> {
        let question = self.question("file sync", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().sync(fd)).await
    }

    async fn get_flags(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        let question = self.question("file flags", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().get_flags(fd)).await
    }

    async fn get_type(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorType> {
        let question = self.question("file type", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().get_type(fd)).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let question = self.question("file set times", fd.rep(), || json!([accessed.keep(), modified.keep()]));
        Question::answered(question, async {
            self.folder_to_change(&fd)?;
            self.filesystem().set_times(fd, accessed, modified).await
        })
        .await
    }

    async fn read(
        &mut self,
        fd: Resource<Descriptor>,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        let question = self.question("file read", fd.rep(), || json!({"at": offset, "size": length}));
        let (mut bytes, ended) = Question::answered(question, self.filesystem().read(fd, length, offset)).await?;
        // A recording may come from anyone.
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok((bytes, ended))
    }

    fn read_via_stream(&mut self, fd: Resource<Descriptor>, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        let Some(tape) = self.tape.clone() else { return self.filesystem().read_via_stream(fd, offset) };
        let question = self.question("file read from", fd.rep(), || offset.into());
        let name = self.file_name(fd.rep());
        let mut real = None;
        Question::answered_now(question, || {
            let stream = self.filesystem().read_via_stream(fd, offset)?;
            real = Some(self.table().delete(stream)?);
            Ok(())
        })?;
        let stream: DynInputStream = Box::new(TapedInput::new(tape, name, real));
        Ok(self.table().push(stream)?)
    }

    async fn stat(&mut self, fd: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        let question = self.question("file stat", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().stat(fd)).await
    }

    async fn stat_at(&mut self, fd: Resource<Descriptor>, at: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let question = self.question("file stat", fd.rep(), || json!([path, follows(at)]));
        Question::answered(question, self.filesystem().stat_at(fd, at, path)).await
    }

    async fn readlink_at(&mut self, fd: Resource<Descriptor>, path: String) -> FsResult<String> {
        let question = self.question("file link target", fd.rep(), || path.keep());
        Question::answered(question, self.filesystem().readlink_at(fd, path)).await
    }

    async fn is_same_object(&mut self, a: Resource<Descriptor>, b: Resource<Descriptor>) -> wasmtime::Result<bool> {
        let other = self.file_name(b.rep());
        let question = self.question("file same", a.rep(), || (&*other).into());
        let same = async { self.filesystem().is_same_object(a, b).await.map_err(FsError::trap) };
        let same = Question::answered(question, same).await;
        same.map_err(|error| error.downcast().map_or_else(|trap| trap, Into::into))
    }

    async fn metadata_hash(&mut self, fd: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        let question = self.question("file metadata hash", fd.rep(), || Value::Null);
        Question::answered(question, self.filesystem().metadata_hash(fd)).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<Descriptor>,
        at: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let question = self.question("file metadata hash", fd.rep(), || json!([path, follows(at)]));
        Question::answered(question, self.filesystem().metadata_hash_at(fd, at, path)).await
    }
}

fn follows(at: PathFlags) -> bool {
    at.contains(PathFlags::SYMLINK_FOLLOW)
}

impl ListingCalls for GuestState {
    async fn read_directory_entry(
        &mut self,
        listing: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let question = self.question("file next entry", listing.rep(), || Value::Null);
        Question::answered(question, self.filesystem().read_directory_entry(listing)).await
    }

    fn drop(&mut self, listing: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        if self.drop_played(listing.rep()) {
            return Ok(());
        }
        self.held.listings.remove(&listing.rep());
        ListingCalls::drop(&mut self.filesystem(), listing)
    }
}

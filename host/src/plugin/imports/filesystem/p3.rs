//! `wasi:filesystem@0.3` for granted folders, by the rules of 0.2: reading is the engine's implementation, opening and
//! changing are as there.

mod codes;
mod listing;
mod writer;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use wasmtime::AsContextMut as _;
use wasmtime::component::{Access, Accessor, FutureReader, HasData, Linker, Resource, StreamReader};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p3::bindings::filesystem::preopens;
use wasmtime_wasi::p3::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, Filesize,
    HostDescriptorWithStore, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p3::filesystem::{FilesystemError, FilesystemResult};

use super::ledger::Ledger;
use super::open::Request;
use super::{GuestState, MAX_LISTED, bindings, guest_error};
use codes::failure;
use listing::Entries;
use writer::FileWriter;

/// Adds the interfaces to the linker, replacing those it has.
pub(in crate::plugin::imports) fn link(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, Guest>(linker, |state| state)?;
    preopens::add_to_linker::<_, Guest>(linker, |state| state)
}

/// The data that the functions work on.
struct Guest;

impl HasData for Guest {
    type Data<'a> = &'a mut GuestState;
}

type Fd = Resource<Descriptor>;
type Store = Accessor<GuestState, Guest>;
/// How a stream ended.
type End = FutureReader<Result<(), ErrorCode>>;

/// The engine's own functions.
fn engine(store: &Store) -> Accessor<GuestState, WasiFilesystem> {
    store.with_getter(|state| state.filesystem())
}

/// Does something with the guest's state.
fn with<T>(store: &Store, work: impl FnOnce(&mut GuestState) -> wasmtime_wasi::p2::FsResult<T>) -> FilesystemResult<T> {
    store.with(|mut access| work(access.get())).map_err(failure)
}

/// Changes what is at a path below a folder.
async fn change_at(
    store: &Store,
    fd: Fd,
    path: String,
    change: fn(&mut Ledger, &File, &Path) -> io::Result<()>,
) -> FilesystemResult<()> {
    let (dir, folder) = with(store, |state| Ok((state.dir_of(&fd)?, state.folder_to_change(&fd)?)))?;
    let changed = folder.change(move |ledger| change(ledger, &dir, Path::new(&path))).await;
    changed.map_err(|error| failure(guest_error(error)))
}

async fn open(store: &Store, fd: &Fd, request: Request) -> FilesystemResult<Fd> {
    let opening = with(store, |state| state.opening(fd, request))?;
    let opened = opening.run().await.map_err(failure)?;
    with(store, |state| state.hold(opened))
}

/// Writes a stream into a file from `at`, or at its end.
fn write(
    mut store: Access<'_, GuestState, Guest>,
    fd: &Fd,
    mut bytes: StreamReader<u8>,
    at: Option<u64>,
) -> wasmtime::Result<End> {
    let (ended, end) = oneshot::channel();
    let state = store.get();
    match state.folder_to_change(fd).and_then(|folder| Ok((folder, state.file_of(fd)?))) {
        Ok((folder, file)) => bytes.pipe(&mut store, FileWriter::new(folder, file, at, ended))?,
        Err(error) => {
            bytes.close(&mut store)?;
            // The receiver is returned below.
            let _ = ended.send(Err(failure(error).downcast()?));
        }
    }
    FutureReader::new(&mut store, end)
}

impl types::Host for &mut GuestState {
    fn convert_error_code(&mut self, error: FilesystemError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }
}

impl types::HostDescriptor for &mut GuestState {
    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        bindings::DescriptorCalls::drop(&mut **self, fd)
    }
}

impl preopens::Host for &mut GuestState {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        bindings::PreopenCalls::get_directories(&mut **self)
    }
}

impl HostDescriptorWithStore<GuestState> for Guest {
    fn read_via_stream(
        mut store: Access<'_, GuestState, Self>,
        fd: Fd,
        offset: Filesize,
    ) -> wasmtime::Result<(StreamReader<u8>, End)> {
        let store = Access::<_, WasiFilesystem>::new(store.as_context_mut(), |state| state.filesystem());
        WasiFilesystem::read_via_stream(store, fd, offset)
    }

    fn write_via_stream(
        store: Access<'_, GuestState, Self>,
        fd: Fd,
        bytes: StreamReader<u8>,
        offset: Filesize,
    ) -> wasmtime::Result<End> {
        write(store, &fd, bytes, Some(offset))
    }

    fn append_via_stream(
        store: Access<'_, GuestState, Self>,
        fd: Fd,
        bytes: StreamReader<u8>,
    ) -> wasmtime::Result<End> {
        write(store, &fd, bytes, None)
    }

    async fn advise(store: &Store, fd: Fd, offset: Filesize, length: Filesize, advice: Advice) -> FilesystemResult<()> {
        WasiFilesystem::advise(&engine(store), fd, offset, length, advice).await
    }

    async fn sync_data(store: &Store, fd: Fd) -> FilesystemResult<()> {
        WasiFilesystem::sync_data(&engine(store), fd).await
    }

    async fn get_flags(store: &Store, fd: Fd) -> FilesystemResult<DescriptorFlags> {
        WasiFilesystem::get_flags(&engine(store), fd).await
    }

    async fn get_type(store: &Store, fd: Fd) -> FilesystemResult<DescriptorType> {
        WasiFilesystem::get_type(&engine(store), fd).await
    }

    async fn set_size(store: &Store, fd: Fd, size: Filesize) -> FilesystemResult<()> {
        let (file, folder) = with(store, |state| Ok((state.file_of(&fd)?, state.folder_to_change(&fd)?)))?;
        let changed = folder.change(move |ledger| ledger.set_size(&file, size)).await;
        changed.map_err(|error| failure(guest_error(error)))
    }

    async fn set_times(store: &Store, fd: Fd, accessed: NewTimestamp, modified: NewTimestamp) -> FilesystemResult<()> {
        with(store, |state| state.folder_to_change(&fd))?;
        WasiFilesystem::set_times(&engine(store), fd, accessed, modified).await
    }

    fn read_directory(
        mut store: Access<'_, GuestState, Self>,
        fd: Fd,
    ) -> wasmtime::Result<(StreamReader<DirectoryEntry>, End)> {
        let (ended, end) = oneshot::channel();
        let state = store.get();
        let entries = match state.dir_of(&fd) {
            Ok(dir) => {
                let listed = state.held.listed.get_or_insert_with(|| Arc::new(Semaphore::new(MAX_LISTED))).clone();
                StreamReader::new(&mut store, Entries::of(dir, listed, ended))?
            }
            Err(error) => {
                // The receiver is returned below.
                let _ = ended.send(Err(failure(error).downcast()?));
                StreamReader::new(&mut store, Vec::new())?
            }
        };
        Ok((entries, FutureReader::new(&mut store, end)?))
    }

    async fn sync(store: &Store, fd: Fd) -> FilesystemResult<()> {
        WasiFilesystem::sync(&engine(store), fd).await
    }

    async fn create_directory_at(store: &Store, fd: Fd, path: String) -> FilesystemResult<()> {
        change_at(store, fd, path, Ledger::create_folder).await
    }

    async fn stat(store: &Store, fd: Fd) -> FilesystemResult<DescriptorStat> {
        WasiFilesystem::stat(&engine(store), fd).await
    }

    async fn stat_at(store: &Store, fd: Fd, at: PathFlags, path: String) -> FilesystemResult<DescriptorStat> {
        WasiFilesystem::stat_at(&engine(store), fd, at, path).await
    }

    /// As in 0.2: what is there is opened first.
    async fn set_times_at(
        store: &Store,
        fd: Fd,
        at: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FilesystemResult<()> {
        with(store, |state| state.folder_to_change(&fd))?;
        let request = Request {
            path,
            at: codes::path_flags(at),
            how: bindings::OpenFlags::empty(),
            flags: bindings::DescriptorFlags::READ,
        };
        let opened = open(store, &fd, request).await?;
        let borrowed = Resource::new_borrow(opened.rep());
        let set = WasiFilesystem::set_times(&engine(store), borrowed, accessed, modified).await;
        with(store, |state| bindings::DescriptorCalls::drop(state, opened).map_err(wasmtime_wasi::p2::FsError::trap))?;
        set
    }

    /// Denied, as in 0.2.
    async fn link_at(_: &Store, _: Fd, _: PathFlags, _: String, _: Fd, _: String) -> FilesystemResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn open_at(
        store: &Store,
        fd: Fd,
        at: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FilesystemResult<Fd> {
        let (at, how, flags) = (codes::path_flags(at), codes::open_flags(how), codes::descriptor_flags(flags));
        open(store, &fd, Request { path, at, how, flags }).await
    }

    async fn readlink_at(store: &Store, fd: Fd, path: String) -> FilesystemResult<String> {
        WasiFilesystem::readlink_at(&engine(store), fd, path).await
    }

    async fn remove_directory_at(store: &Store, fd: Fd, path: String) -> FilesystemResult<()> {
        change_at(store, fd, path, Ledger::remove_folder).await
    }

    /// As in 0.2: only within one granted folder.
    async fn rename_at(store: &Store, fd: Fd, old: String, new_fd: Fd, new: String) -> FilesystemResult<()> {
        let (folder, dir, new_dir) = with(store, |state| {
            let (dir, new_dir) = (state.dir_of(&fd)?, state.dir_of(&new_fd)?);
            let folder = state.folder_to_change(&fd)?;
            if !Arc::ptr_eq(&folder, &state.folder_to_change(&new_fd)?) {
                return Err(bindings::ErrorCode::CrossDevice.into());
            }
            Ok((folder, dir, new_dir))
        })?;
        let renamed = folder.change(move |ledger| ledger.rename((&dir, Path::new(&old)), (&new_dir, Path::new(&new))));
        renamed.await.map_err(|error| failure(guest_error(error)))
    }

    /// Denied, as in 0.2.
    async fn symlink_at(_: &Store, _: Fd, _: String, _: String) -> FilesystemResult<()> {
        Err(ErrorCode::NotPermitted.into())
    }

    async fn unlink_file_at(store: &Store, fd: Fd, path: String) -> FilesystemResult<()> {
        change_at(store, fd, path, Ledger::remove_file).await
    }

    async fn is_same_object(store: &Store, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        WasiFilesystem::is_same_object(&engine(store), a, b).await
    }

    async fn metadata_hash(store: &Store, fd: Fd) -> FilesystemResult<MetadataHashValue> {
        WasiFilesystem::metadata_hash(&engine(store), fd).await
    }

    async fn metadata_hash_at(
        store: &Store,
        fd: Fd,
        at: PathFlags,
        path: String,
    ) -> FilesystemResult<MetadataHashValue> {
        WasiFilesystem::metadata_hash_at(&engine(store), fd, at, path).await
    }
}

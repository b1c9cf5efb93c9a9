//! The entries of a folder as a stream. They are read at once, so that no thread waits for a guest.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use cap_primitives::fs::read_base_dir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wasmtime::StoreContextMut;
use wasmtime::component::{Destination, StreamProducer, StreamResult, VecBuffer};
use wasmtime_wasi::p3::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};
use wasmtime_wasi::runtime::{self, AbortOnDropJoinHandle};

use super::super::bindings::code_of;
use super::codes::code;

/// Entries of one read.
const READ: usize = 256;

pub(super) struct Entries {
    progress: Progress,
    ended: Option<oneshot::Sender<Result<(), ErrorCode>>>,
}

enum Progress {
    Reading(AbortOnDropJoinHandle<Result<Held, ErrorCode>>),
    Read(Held),
}

/// Entries that the guest has not read, counted among those of its call.
struct Held {
    entries: vec::IntoIter<DirectoryEntry>,
    _counted: OwnedSemaphorePermit,
}

impl Entries {
    /// `listed` has a permit for each entry that the call may hold; `ended` is told how reading them ended.
    pub(super) fn of(dir: Arc<File>, listed: Arc<Semaphore>, ended: oneshot::Sender<Result<(), ErrorCode>>) -> Self {
        Self { progress: Progress::Reading(runtime::spawn_blocking(move || read(&dir, &listed))), ended: Some(ended) }
    }

    fn end(&mut self, end: Result<(), ErrorCode>) {
        if let Some(ended) = self.ended.take() {
            // The guest may not want to know.
            let _ = ended.send(end);
        }
    }
}

fn read(dir: &File, listed: &Arc<Semaphore>) -> Result<Held, ErrorCode> {
    let failed = |error: io::Error| code(code_of(&error));
    let permit = || listed.clone().try_acquire_owned().map_err(|_| ErrorCode::InsufficientMemory);
    let (mut entries, mut counted) = (Vec::new(), permit()?);
    for entry in read_base_dir(dir).map_err(failed)? {
        counted.merge(permit()?);
        let entry = entry.map_err(failed)?;
        let kind = entry.metadata().map_err(failed)?.file_type();
        let type_ = match () {
            () if kind.is_dir() => DescriptorType::Directory,
            () if kind.is_file() => DescriptorType::RegularFile,
            () if kind.is_symlink() => DescriptorType::SymbolicLink,
            () => DescriptorType::Other(None),
        };
        let name = entry.file_name().into_string().map_err(|_| ErrorCode::IllegalByteSequence)?;
        entries.push(DirectoryEntry { type_, name });
    }
    Ok(Held { entries: entries.into_iter(), _counted: counted })
}

impl<D> StreamProducer<D> for Entries {
    type Item = DirectoryEntry;
    type Buffer = VecBuffer<DirectoryEntry>;

    fn poll_produce<'a>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut store: StoreContextMut<'a, D>,
        mut destination: Destination<'a, DirectoryEntry, Self::Buffer>,
        finish: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let room = destination.remaining(&mut store).unwrap_or(READ);
        if room == 0 {
            return Poll::Ready(Ok(StreamResult::Completed));
        }
        loop {
            match &mut self.progress {
                Progress::Reading(reading) => match Pin::new(reading).poll(cx) {
                    Poll::Ready(Ok(held)) => self.progress = Progress::Read(held),
                    Poll::Ready(Err(code)) => {
                        self.end(Err(code));
                        return Poll::Ready(Ok(StreamResult::Dropped));
                    }
                    Poll::Pending if finish => return Poll::Ready(Ok(StreamResult::Cancelled)),
                    Poll::Pending => return Poll::Pending,
                },
                Progress::Read(Held { entries, .. }) => {
                    let part: Vec<DirectoryEntry> = entries.take(room.min(READ)).collect();
                    let is_last = entries.len() == 0;
                    destination.set_buffer(part.into());
                    if is_last {
                        self.end(Ok(()));
                    }
                    return Poll::Ready(Ok(if is_last { StreamResult::Dropped } else { StreamResult::Completed }));
                }
            }
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

//! A stream into a file of a granted folder; its writes count against the quota.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::oneshot;
use wasmtime::StoreContextMut;
use wasmtime::component::{Source, StreamConsumer, StreamResult};
use wasmtime_wasi::p3::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::runtime::{self, AbortOnDropJoinHandle};

use super::super::bindings::code_of;
use super::super::folder::Folder;
use super::super::writer::CHUNK;
use super::codes::code;

pub(super) struct FileWriter {
    folder: Arc<Folder>,
    file: Arc<File>,
    /// The offset of the next write; `None` is the end of the file.
    at: Option<u64>,
    /// A write in progress; it returns its number of bytes.
    writing: Option<AbortOnDropJoinHandle<io::Result<usize>>>,
    ended: Option<oneshot::Sender<Result<(), ErrorCode>>>,
}

impl FileWriter {
    /// `ended` is told how it ended.
    pub(super) fn new(
        folder: Arc<Folder>,
        file: Arc<File>,
        at: Option<u64>,
        ended: oneshot::Sender<Result<(), ErrorCode>>,
    ) -> Self {
        Self { folder, file, at, writing: None, ended: Some(ended) }
    }

    fn end(&mut self, end: Result<(), ErrorCode>) {
        if let Some(ended) = self.ended.take() {
            // The guest may not want to know.
            let _ = ended.send(end);
        }
    }
}

impl<D> StreamConsumer<D> for FileWriter {
    type Item = u8;

    /// A write that has begun is finished, also when the guest cancels it.
    fn poll_consume(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        store: StoreContextMut<'_, D>,
        source: Source<'_, u8>,
        _: bool,
    ) -> Poll<wasmtime::Result<StreamResult>> {
        let mut source = source.as_direct(store);
        let this = &mut *self;
        let writing = match &mut this.writing {
            Some(writing) => writing,
            None => {
                let bytes = source.remaining();
                let bytes = bytes[..bytes.len().min(CHUNK)].to_vec();
                if bytes.is_empty() {
                    return Poll::Ready(Ok(StreamResult::Completed));
                }
                let (folder, file, at) = (this.folder.clone(), this.file.clone(), this.at);
                this.writing.insert(runtime::spawn(async move {
                    folder.change(move |ledger| ledger.write(&file, &bytes, at).map(|()| bytes.len())).await
                }))
            }
        };
        let written = ready!(Pin::new(writing).poll(cx));
        this.writing = None;
        Poll::Ready(Ok(match written {
            Ok(written) => {
                source.mark_read(written);
                this.at = this.at.map(|at| at + written as u64);
                StreamResult::Completed
            }
            Err(error) => {
                this.end(Err(code(code_of(&error))));
                StreamResult::Dropped
            }
        }))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.end(Ok(()));
    }
}

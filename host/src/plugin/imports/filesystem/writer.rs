//! A stream into a file of a granted folder; its writes count against the quota.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::runtime::{self, AbortOnDropJoinHandle};

use super::folder::Folder;

/// Maximum bytes of one write.
pub(super) const CHUNK: usize = 64 << 10;

pub(super) struct FileWriter {
    folder: Arc<Folder>,
    file: Arc<File>,
    /// The offset of the next write; `None` is the end of the file.
    at: Option<u64>,
    progress: Progress,
}

enum Progress {
    Idle,
    /// A write is in progress; it returns its number of bytes.
    Writing(AbortOnDropJoinHandle<io::Result<u64>>),
    Failed(io::Error),
    Closed,
}

impl FileWriter {
    pub(super) fn new(folder: Arc<Folder>, file: Arc<File>, at: Option<u64>) -> Self {
        Self { folder, file, at, progress: Progress::Idle }
    }

    /// Returns an error once; after it the stream is closed.
    fn check(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.progress, Progress::Closed) {
            Progress::Failed(error) => Err(StreamError::LastOperationFailed(error.into())),
            Progress::Closed => Err(StreamError::Closed),
            progress => {
                self.progress = progress;
                Ok(())
            }
        }
    }
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check()?;
        if !matches!(self.progress, Progress::Idle) || bytes.len() > CHUNK {
            return Err(StreamError::trap("written without a permit"));
        }
        let (folder, file, at) = (self.folder.clone(), self.file.clone(), self.at);
        self.progress = Progress::Writing(runtime::spawn(async move {
            folder.change(move |ledger| ledger.write(&file, &bytes, at).map(|()| bytes.len() as u64)).await
        }));
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.check()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.check()?;
        Ok(if matches!(self.progress, Progress::Idle) { CHUNK } else { 0 })
    }

    async fn cancel(&mut self) {
        if let Progress::Writing(task) = std::mem::replace(&mut self.progress, Progress::Closed) {
            task.cancel().await;
        }
    }
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {
        if let Progress::Writing(task) = &mut self.progress {
            self.progress = match task.await {
                Ok(written) => {
                    self.at = self.at.map(|at| at + written);
                    Progress::Idle
                }
                Err(error) => Progress::Failed(error),
            };
        }
    }
}

//! Unix sockets: tokio has none on Windows.

use std::io;
use std::net::Shutdown;
use std::path::{Path, PathBuf};

use tokio::io::DuplexStream;

use crate::os::sockets::BindError;

/// Never created.
pub(crate) enum LocalListener {}

impl LocalListener {
    /// # Errors
    /// Always.
    pub(crate) fn bind(_: &Path, _: u32) -> Result<Self, BindError> {
        Err(BindError::System(io::Error::new(
            io::ErrorKind::Unsupported,
            "Unix sockets are not supported on Windows: use an address such as 127.0.0.1:8080",
        )))
    }

    pub(crate) async fn accept(&self) -> io::Result<LocalStream> {
        match *self {}
    }

    pub(crate) fn path(&self) -> Option<PathBuf> {
        match *self {}
    }
}

/// Never created.
pub(crate) enum LocalStream {}

impl LocalStream {
    pub(crate) fn read(&self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn write(&self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(crate) fn shutdown(&self, _: Shutdown) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn register(self) -> io::Result<DuplexStream> {
        match self {}
    }
}

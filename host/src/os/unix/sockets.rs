//! Private Unix sockets.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixSocket};

use crate::os::sockets::BindError;

/// A listening socket.
pub(crate) struct LocalListener(UnixListener);

impl LocalListener {
    /// Creates a socket that only this user can connect to; replaces the stale socket of a server that
    /// was killed. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// If the path is in use or is another kind of file, or the system rejects it.
    pub(crate) fn bind(path: &Path, backlog: u32) -> Result<Self, BindError> {
        remove_stale(path)?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        // Nobody can connect before it listens.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self(socket.listen(backlog)?))
    }

    /// # Errors
    /// If the system rejects it.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no service manager passes one"))]
    pub(in crate::os) fn from_std(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener).map(Self)
    }

    /// # Errors
    /// The system's.
    pub(crate) async fn accept(&self) -> io::Result<LocalStream> {
        let (stream, _) = self.0.accept().await?;
        stream.into_std().map(LocalStream)
    }

    /// Its path, if it has one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.0.local_addr().ok()?.as_pathname().map(Path::to_owned)
    }
}

/// A connection that is not registered with a runtime yet.
pub(crate) struct LocalStream(UnixStream);

impl LocalStream {
    pub(crate) fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(bytes)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }

    /// Registers it with the current runtime.
    pub(crate) fn register(self) -> io::Result<impl AsyncRead + AsyncWrite + Unpin + Send + 'static> {
        tokio::net::UnixStream::from_std(self.0)
    }
}

/// Removes the socket of a server that was killed, and nothing else.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(BindError::NotASocket);
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(BindError::OtherUser);
    }
    if UnixStream::connect(path).is_ok() {
        return Err(BindError::InUse);
    }
    Ok(fs::remove_file(path)?)
}

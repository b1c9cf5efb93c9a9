//! Listening sockets: a TCP address, a Unix socket, or a socket passed by systemd.
//!
//! Accepts connections; requests are read elsewhere.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use wharf_report::ShowPath as _;

use crate::os::files::Links;
use crate::os::service;
pub use crate::os::sockets::Address;
use crate::os::sockets::{BindError, LocalListener, LocalStream, PassedSocket};
use crate::os::stamp::Identity;

/// Pause after a failed accept, for example because no file descriptors are left.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum connections in the kernel's accept queue.
const BACKLOG: u32 = 1024;

/// A TCP or Unix stream.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Why the server cannot listen, and perhaps a hint.
#[derive(Debug, thiserror::Error)]
#[error("listen on {place}: {reason}")]
pub struct ListenError {
    place: String,
    reason: String,
    pub hint: Option<&'static str>,
}

/// A listening socket.
pub struct Listener {
    socket: Socket,
    /// The created socket file, which is removed on drop.
    created: Option<(PathBuf, Identity)>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(LocalListener),
}

/// A connection that is not registered with a runtime yet.
pub(super) enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(LocalStream),
}

impl Accepted {
    /// Discards the bytes received so far. `false`: the connection is broken.
    pub(super) fn drain(&self) -> bool {
        let mut bytes = [0; 4096];
        // Enough for a request's head; a client that has sent more gets a reset.
        for _ in 0..16 {
            let read = match self {
                Self::Tcp(stream) => (&mut &*stream).read(&mut bytes),
                Self::Unix(stream) => stream.read(&mut bytes),
            };
            match read {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// Writes a short final response without blocking. `false`: it could not be written.
    pub(super) fn close_with(&self, last: &[u8]) -> bool {
        let (written, closed) = match self {
            Self::Tcp(stream) => ((&mut &*stream).write(last), stream.shutdown(Shutdown::Write)),
            Self::Unix(stream) => (stream.write(last), stream.shutdown(Shutdown::Write)),
        };
        closed.is_ok() && written.is_ok_and(|written| written == last.len())
    }

    /// Registers it with the current runtime. `None`: it failed, which is logged.
    pub(super) fn register(self) -> Option<Box<dyn Stream>> {
        let registered: io::Result<Box<dyn Stream>> = match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(|stream| Box::new(stream) as _),
            Self::Unix(stream) => stream.register().map(|stream| Box::new(stream) as _),
        };
        registered.inspect_err(|error| tracing::warn!(%error, "failed to register a connection")).ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another server may have put its own there.
        if let Some((path, identity)) = &self.created
            && Identity::of(path, Links::NotFollowed) == Some(*identity)
            && let Err(error) = fs::remove_file(path)
        {
            tracing::debug!(%error, path = %path.shown(), "failed to remove the socket");
        }
    }
}

impl Listener {
    /// Starts to listen. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// If the port or path is in use or not permitted, or systemd passed no socket.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let place = match address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => format!("unix:{}", path.shown()),
            Address::Systemd => "the socket passed by systemd".into(),
        };
        let bound = match address {
            Address::Tcp(address) => bind_tcp(*address),
            Address::Unix(path) => bind_unix(path),
            Address::Systemd => passed_socket(),
        };
        let socket = bound.map_err(|(reason, hint)| ListenError { place, reason, hint })?;
        let created = match address {
            Address::Unix(path) => Identity::of(path, Links::NotFollowed).map(|identity| (path.clone(), identity)),
            Address::Tcp(_) | Address::Systemd => None,
        };
        Ok(Self { socket, created })
    }

    /// The bound TCP address.
    pub fn local_address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self.socket {
            Socket::Tcp(_) => self.local_address().is_some_and(|address| address.ip().to_canonical().is_loopback()),
            Socket::Unix(_) => true,
        }
    }

    /// The URL for clients.
    pub fn url(&self, tls: bool) -> String {
        let scheme = if tls { "https" } else { "http" };
        let address = match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok().map(|address| format!("{scheme}://{address}/mcp")),
            Socket::Unix(listener) => listener.path().map(|path| format!("unix:{}", path.shown())),
        };
        address.unwrap_or_else(|| "an unnamed socket".into())
    }

    /// The next connection, and its remote address if it has one.
    pub(super) async fn accept(&self) -> (Accepted, Option<IpAddr>) {
        loop {
            let accepted = match &self.socket {
                Socket::Tcp(listener) => listener.accept().await.and_then(|(stream, peer)| {
                    // Whole messages are written, so Nagle's algorithm would only add latency.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "failed to set TCP_NODELAY");
                    }
                    Ok((Accepted::Tcp(stream.into_std()?), Some(peer.ip())))
                }),
                Socket::Unix(listener) => listener.accept().await.map(|stream| (Accepted::Unix(stream), None)),
            };
            match accepted {
                Ok(connection) => return connection,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    }
}

/// The next connection to a listener that is not for clients.
pub(in crate::transport) async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::debug!(%error, "failed to accept a connection");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

type Bound = Result<Socket, (String, Option<&'static str>)>;

fn explain(error: &io::Error) -> (String, Option<&'static str>) {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            ("the port is in use".into(), Some("another program listens on it; use another port, or 0 for a free one"))
        }
        io::ErrorKind::AddrNotAvailable => {
            ("this machine has no such address".into(), Some("use 127.0.0.1, or an address of this machine"))
        }
        io::ErrorKind::PermissionDenied => {
            (error.to_string(), Some("use a port above 1023, or a socket path in a folder that you can write"))
        }
        _ => (error.to_string(), None),
    }
}

fn bind_tcp(address: SocketAddr) -> Bound {
    // std sets SO_REUSEADDR, so that a restart does not wait for connections in TIME_WAIT.
    let bind = || from_std(std::net::TcpListener::bind(address)?);
    bind().map_err(|error| explain(&error))
}

fn from_std(listener: std::net::TcpListener) -> io::Result<Socket> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener).map(Socket::Tcp)
}

/// Creates a socket that only this user can connect to.
fn bind_unix(path: &Path) -> Bound {
    let refuse = |reason: &str, hint| Err((reason.to_owned(), Some(hint)));
    match LocalListener::bind(path, BACKLOG) {
        Ok(listener) => Ok(Socket::Unix(listener)),
        Err(BindError::NotASocket) => refuse("the path exists and is not a socket", "remove it, or use another path"),
        Err(BindError::OtherUser) => {
            refuse("the path is a socket of another user", "use a path in a folder of your own")
        }
        Err(BindError::InUse) => refuse("another server listens on it", "stop it, or use another path"),
        Err(BindError::System(error)) => Err(explain(&error)),
    }
}

fn passed_socket() -> Bound {
    let hint = Some("use 'systemd' only in a service that is started by a .socket unit");
    let passed = service::take_socket().and_then(|passed| {
        Ok(match passed {
            Some(PassedSocket::Tcp(listener)) => Some(from_std(listener)?),
            Some(PassedSocket::Local(listener)) => Some(Socket::Unix(listener)),
            None => None,
        })
    });
    match passed {
        Ok(socket) => socket.ok_or_else(|| ("no socket was passed".into(), hint)),
        Err(error) => Err((error.to_string(), hint)),
    }
}

#[cfg(test)]
mod tests;

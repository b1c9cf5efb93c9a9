//! Where the server listens: an address of TCP, a Unix socket, or a socket that systemd hands
//! over.
//!
//! Accepts connections and reads nothing from them.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::os::service;
use crate::os::sockets::{BindError, Handed, LocalListener, LocalStream};

/// After an error of the system (no descriptors are left, say) before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that wait in the kernel.
const BACKLOG: u32 = 1024;

/// Either kind of stream.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Port 0 is any free one.
    Tcp(SocketAddr),
    Unix(PathBuf),
    /// The first socket that was handed over (`LISTEN_FDS`).
    Systemd,
}

impl FromStr for Address {
    type Err = String;

    /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (the first of these), `unix:/path` or
    /// `systemd`. Other names are not looked up: they may stand for several addresses.
    fn from_str(text: &str) -> Result<Self, String> {
        let port = |port: &str| port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        if text == "systemd" {
            return Ok(Self::Systemd);
        }
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err("no path after 'unix:'".into()) } else { Ok(Self::Unix(path.into())) };
        }
        let local = text.strip_prefix("localhost:").and_then(port);
        local.or_else(|| text.parse().ok()).map(Self::Tcp).ok_or_else(|| format!("not an address: {text:?}"))
    }
}

/// Why nothing can be listened to, and perhaps what to do.
#[derive(Debug, thiserror::Error)]
#[error("listen on {place}: {reason}")]
pub struct ListenError {
    place: String,
    reason: String,
    pub hint: Option<&'static str>,
}

/// A socket that is listened to.
pub struct Listener {
    socket: Socket,
    /// What was made in the file system, and goes with it.
    made: Option<PathBuf>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(LocalListener),
}

/// A connection that is not yet of any runtime.
pub(super) enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(LocalStream),
}

impl Accepted {
    /// Reads what has come so far, and throws it away. `false`: the connection is broken.
    pub(super) fn drain(&self) -> bool {
        let mut bytes = [0; 4096];
        // Of more than a head a sender learns by a reset.
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

    /// Writes something short, after which no more comes. `false`: that was not possible at once.
    pub(super) fn close_with(&self, last: &[u8]) -> bool {
        let (written, closed) = match self {
            Self::Tcp(stream) => ((&mut &*stream).write(last), stream.shutdown(Shutdown::Write)),
            Self::Unix(stream) => (stream.write(last), stream.shutdown(Shutdown::Write)),
        };
        closed.is_ok() && written.is_ok_and(|written| written == last.len())
    }

    /// Makes it one of the runtime of whoever calls this.
    pub(super) fn enter(self) -> Option<Box<dyn Stream>> {
        let entered: io::Result<Box<dyn Stream>> = match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(|stream| Box::new(stream) as _),
            Self::Unix(stream) => stream.enter().map(|stream| Box::new(stream) as _),
        };
        entered.inspect_err(|error| tracing::warn!(%error, "serve a connection")).ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.made
            && let Err(error) = fs::remove_file(path)
        {
            tracing::debug!(%error, path = %path.display(), "remove the socket");
        }
    }
}

impl Listener {
    /// Starts to listen. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// If the port or the path is taken, may not be used, or no socket was handed over.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
        let place = match address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => format!("unix:{}", path.display()),
            Address::Systemd => "a socket of systemd".into(),
        };
        let bound = match address {
            Address::Tcp(address) => bind_tcp(*address),
            Address::Unix(path) => bind_unix(path),
            Address::Systemd => take_over(),
        };
        let socket = bound.map_err(|(reason, hint)| ListenError { place, reason, hint })?;
        let made = if let Address::Unix(path) = address { Some(path.clone()) } else { None };
        Ok(Self { socket, made })
    }

    /// The address of TCP that it is bound to.
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

    /// What clients are told to use.
    pub fn url(&self, tls: bool) -> String {
        let scheme = if tls { "https" } else { "http" };
        let address = match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok().map(|address| format!("{scheme}://{address}/mcp")),
            Socket::Unix(listener) => listener.path().map(|path| format!("unix:{}", path.display())),
        };
        address.unwrap_or_else(|| "a socket without a name".into())
    }

    /// The next connection, and where it comes from if it has an address.
    pub(super) async fn accept(&self) -> (Accepted, Option<IpAddr>) {
        loop {
            let accepted = match &self.socket {
                Socket::Tcp(listener) => listener.accept().await.and_then(|(stream, peer)| {
                    // What is written is whole messages: nothing is gained by waiting for more.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "set TCP_NODELAY");
                    }
                    Ok((Accepted::Tcp(stream.into_std()?), Some(peer.ip())))
                }),
                Socket::Unix(listener) => listener.accept().await.map(|stream| (Accepted::Unix(stream), None)),
            };
            match accepted {
                Ok(connection) => return connection,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "take up a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

type Bound = Result<Socket, (String, Option<&'static str>)>;

fn explain(error: &io::Error) -> (String, Option<&'static str>) {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            ("the port is taken".into(), Some("another program listens there; name another port, or 0 for a free one"))
        }
        io::ErrorKind::AddrNotAvailable => {
            ("this machine has no such address".into(), Some("use 127.0.0.1, or an address of this machine"))
        }
        io::ErrorKind::PermissionDenied => {
            (error.to_string(), Some("ports below 1024 belong to the system, or the folder is not yours"))
        }
        _ => (error.to_string(), None),
    }
}

fn bind_tcp(address: SocketAddr) -> Bound {
    // std sets SO_REUSEADDR, so that a restart does not wait for connections to be forgotten.
    let bind = || take_up(std::net::TcpListener::bind(address)?);
    bind().map_err(|error| explain(&error))
}

fn take_up(listener: std::net::TcpListener) -> io::Result<Socket> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener).map(Socket::Tcp)
}

/// Makes a socket for this user alone.
fn bind_unix(path: &Path) -> Bound {
    let refuse = |reason: &str, hint| Err((reason.to_owned(), Some(hint)));
    match LocalListener::bind(path, BACKLOG) {
        Ok(listener) => Ok(Socket::Unix(listener)),
        Err(BindError::NotASocket) => refuse("there is a file that is no socket", "remove it, or name another path"),
        Err(BindError::OtherUser) => refuse("there is a socket of another user", "name a path in a folder of your own"),
        Err(BindError::InUse) => refuse("another server listens there", "stop it, or name another path"),
        Err(BindError::System(error)) => Err(explain(&error)),
    }
}

fn take_over() -> Bound {
    let hint = Some("'systemd' is for a service that a .socket unit starts");
    let taken = service::take_socket().and_then(|handed| {
        Ok(match handed {
            Some(Handed::Tcp(listener)) => Some(take_up(listener)?),
            Some(Handed::Local(listener)) => Some(Socket::Unix(listener)),
            None => None,
        })
    });
    match taken {
        Ok(socket) => socket.ok_or_else(|| ("no socket was handed over".into(), hint)),
        Err(error) => Err((error.to_string(), hint)),
    }
}

#[cfg(test)]
mod tests;

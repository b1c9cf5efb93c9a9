//! Addresses of listening sockets, and Unix sockets, which tokio does not support on Windows.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
#[cfg(feature = "nats")]
use std::time::Duration;

#[cfg(feature = "nats")]
use tokio::net::TcpStream;

pub(crate) use super::system::sockets::{LocalListener, LocalStream};

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Port 0 is any free port.
    Tcp(SocketAddr),
    Unix(PathBuf),
    /// The first socket passed by systemd (`LISTEN_FDS`).
    Systemd,
}

impl Address {
    /// What to write in place of a text that is no address.
    pub fn advice(text: &str) -> String {
        match text.trim_start_matches(':').parse::<u16>() {
            Ok(port) => format!("write \"127.0.0.1:{port}\""),
            Err(_) => "write 127.0.0.1:8080, [::1]:8080, localhost:8080, unix:/path or systemd".to_owned(),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (which is 127.0.0.1), `unix:/path` or
    /// `systemd`. Other names are not resolved: they may have several addresses.
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

/// For how long data that is not acknowledged is sent again, before the connection ends and with it what was not
/// delivered. Other systems than Linux have no such setting for single connections.
///
/// # Errors
/// If the system does not have it.
#[cfg(feature = "nats")]
pub(crate) fn set_user_timeout(stream: &TcpStream, time: Duration) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::net::sockopt::set_tcp_user_timeout(stream, u32::try_from(time.as_millis()).unwrap_or(u32::MAX))?;
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, time);
    Ok(())
}

/// Why a socket could not be created.
#[derive(Debug)]
#[cfg_attr(windows, expect(dead_code, reason = "there are no such sockets"))]
pub(crate) enum BindError {
    System(io::Error),
    /// The path is another kind of file.
    NotASocket,
    OtherUser,
    /// Another server listens there.
    InUse,
}

impl From<io::Error> for BindError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A listening socket passed by the service manager.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no service manager passes one"))]
pub(crate) enum PassedSocket {
    Tcp(std::net::TcpListener),
    Local(LocalListener),
}

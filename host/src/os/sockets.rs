//! Unix sockets, which tokio does not support on Windows.

use std::io;

pub(crate) use super::system::sockets::{LocalListener, LocalStream};

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

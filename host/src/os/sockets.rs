//! Sockets in the file system, which Windows does not have for tokio.

use std::io;

pub(crate) use super::system::sockets::{LocalListener, LocalStream};

/// Why there is no socket.
#[derive(Debug)]
#[cfg_attr(windows, expect(dead_code, reason = "there are no such sockets"))]
pub(crate) enum BindError {
    System(io::Error),
    /// Something else is there.
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

/// A socket that another program opened for this one.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody hands one over"))]
pub(crate) enum Handed {
    Tcp(std::net::TcpListener),
    Local(LocalListener),
}

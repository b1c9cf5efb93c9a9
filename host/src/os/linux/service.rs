//! Integration with systemd.

use std::io;

use listenfd::ListenFd;
use rustix::io::{FdFlags, fcntl_setfd};
use sd_notify::NotifyState;

use crate::os::sockets::{LocalListener, PassedSocket};

/// Notifies that connections are accepted.
pub(crate) fn ready() {
    notify(NotifyState::Ready);
}

/// Notifies that the server is shutting down.
pub(crate) fn stopping() {
    notify(NotifyState::Stopping);
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "failed to notify the service manager");
    }
}

/// The first passed socket (`LISTEN_FDS`), if there is one.
///
/// # Errors
/// If it is not a listening socket.
pub(crate) fn take_socket() -> io::Result<Option<PassedSocket>> {
    let mut passed = ListenFd::from_env();
    if passed.len() == 0 {
        return Ok(None);
    }
    if let Ok(Some(listener)) = passed.take_tcp_listener(0) {
        // No other program needs it.
        fcntl_setfd(&listener, FdFlags::CLOEXEC)?;
        return Ok(Some(PassedSocket::Tcp(listener)));
    }
    let listener = passed.take_unix_listener(0)?.ok_or_else(|| io::Error::other("the socket was taken already"))?;
    LocalListener::from_std(listener).map(|listener| Some(PassedSocket::Local(listener)))
}

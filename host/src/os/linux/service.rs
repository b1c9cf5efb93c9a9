//! systemd, where it starts the server.

use std::io;

use listenfd::ListenFd;
use sd_notify::NotifyState;

use crate::os::sockets::{Handed, LocalListener};

/// Says that connections are taken up.
pub(crate) fn ready() {
    notify(NotifyState::Ready);
}

/// Says that the server is about to end.
pub(crate) fn stopping() {
    notify(NotifyState::Stopping);
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "notify the service manager");
    }
}

/// The first socket that was handed over (`LISTEN_FDS`), if there is one.
///
/// # Errors
/// If it is none to listen on.
pub(crate) fn take_socket() -> io::Result<Option<Handed>> {
    let mut given = ListenFd::from_env();
    if given.len() == 0 {
        return Ok(None);
    }
    if let Ok(Some(listener)) = given.take_tcp_listener(0) {
        return Ok(Some(Handed::Tcp(listener)));
    }
    let listener = given.take_unix_listener(0)?.ok_or_else(|| io::Error::other("the socket was taken already"))?;
    LocalListener::from_std(listener).map(|listener| Some(Handed::Local(listener)))
}

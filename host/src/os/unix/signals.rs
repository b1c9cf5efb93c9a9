//! SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::os::signals::Asked;

/// The signals that are heeded from now on.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Must be called in a tokio runtime.
    ///
    /// # Errors
    /// If the system gives none.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::End(143),
            _ = self.interrupt.recv() => Asked::End(130),
            _ = self.hangup.recv() => Asked::HangUp,
        }
    }
}

/// A file that may not grow (`ulimit -f`) is from here on an error of what writes it, and no end.
/// Must be called in a tokio runtime.
pub(crate) fn survive_file_size_limit() {
    // It is handled until the process ends, whether or not anybody waits for it.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

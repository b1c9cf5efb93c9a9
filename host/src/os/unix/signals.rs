//! SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::os::signals::Received;

/// The signals that are handled.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Must be called in a tokio runtime. From here on none of them ends the process, also when this is dropped.
    ///
    /// # Errors
    /// If a handler cannot be installed.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.terminate.recv() => Received::Terminate(143),
            _ = self.interrupt.recv() => Received::Terminate(130),
            _ = self.hangup.recv() => Received::HangUp,
        }
    }
}

/// From here on, a write beyond the file size limit (`ulimit -f`) fails, instead of killing the process
/// with SIGXFSZ. Must be called in a tokio runtime.
pub(crate) fn survive_file_size_limit() {
    // The handler stays installed after the stream is dropped.
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

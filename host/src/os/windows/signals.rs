//! Ctrl-C, Ctrl-Break, closing the console, logoff and shutdown.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown,
};

use crate::os::signals::Received;

/// The signals that are handled.
pub(crate) struct Signals {
    c: CtrlC,
    break_: CtrlBreak,
    close: CtrlClose,
    logoff: CtrlLogoff,
    shutdown: CtrlShutdown,
}

impl Signals {
    /// Must be called in a tokio runtime.
    ///
    /// # Errors
    /// If a handler cannot be installed.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            c: ctrl_c()?,
            break_: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// The next signal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.c.recv() => Received::Terminate(130),
            _ = self.break_.recv() => Received::Terminate(130),
            _ = self.close.recv() => Received::Terminate(143),
            _ = self.logoff.recv() => Received::Terminate(143),
            _ = self.shutdown.recv() => Received::Terminate(143),
        }
    }
}

/// There is no such signal.
pub(crate) fn survive_file_size_limit() {}

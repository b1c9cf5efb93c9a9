//! Ctrl-C, Ctrl-Break, and the ends of a console, a session and the system.

use std::io;

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlLogoff, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown,
};

use crate::os::signals::Asked;

/// The signals that are heeded from now on.
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
    /// If the system gives none.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            c: ctrl_c()?,
            break_: ctrl_break()?,
            close: ctrl_close()?,
            logoff: ctrl_logoff()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.c.recv() => Asked::End(130),
            _ = self.break_.recv() => Asked::End(130),
            _ = self.close.recv() => Asked::End(143),
            _ = self.logoff.recv() => Asked::End(143),
            _ = self.shutdown.recv() => Asked::End(143),
        }
    }
}

/// There is no such signal.
pub(crate) fn survive_file_size_limit() {}

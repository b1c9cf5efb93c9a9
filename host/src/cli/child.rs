//! Processes that this one starts and that end with it, with all that they started.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::report::Failure;

/// Ready when the person or the system wants this process to end. Groups of their own hear
/// nothing of a Ctrl-C, nor of a terminal that is closed.
pub(super) fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| signal(kind).map_err(|error| Failure::new(format!("listen for signals: {error}")));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// A process and its descendants, as a process group of their own. Ended when dropped.
pub(super) struct Group {
    pub(super) child: Child,
    /// `None` once it has ended: its number may be another's then.
    id: Option<Pid>,
}

impl Group {
    pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, id })
    }

    /// Its end. Cancel-safe.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.id = None;
        Ok(status)
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&self) {
        if let Some(id) = self.id {
            // It may have ended just now.
            let _ = kill_process_group(id, Signal::TERM);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.terminate();
    }
}

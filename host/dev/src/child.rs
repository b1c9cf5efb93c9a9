//! Processes that this one starts and that end with it, with all that they started.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};
use wharf_report::Failure;

use crate::os;

/// Ready when the person or the system wants this process to end. Groups of their own hear
/// nothing of a Ctrl-C, nor of a terminal that is closed.
pub(crate) fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    os::interrupted().map_err(|error| Failure::new(format!("listen for signals: {error}")))
}

/// A process and its descendants, as a process group of their own. Ended when dropped.
pub(crate) struct Group {
    pub(crate) child: Child,
    /// `None` once it has ended: its number may be another's then.
    id: Option<u32>,
}

impl Group {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = os::in_own_group(&mut command).spawn()?;
        let id = child.id();
        Ok(Self { child, id })
    }

    /// Its end. Cancel-safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.id = None;
        Ok(status)
    }

    /// Asks all of it to end.
    pub(crate) fn terminate(&self) {
        if let Some(id) = self.id {
            os::terminate_group(id);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.terminate();
    }
}

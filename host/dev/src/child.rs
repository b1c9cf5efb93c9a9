//! Child processes that are terminated with this one, including their descendants.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};
use wharf_report::Failure;

use crate::os;

/// Ready on a termination signal. Separate process groups receive neither Ctrl-C nor the hangup of a
/// closed terminal.
pub(crate) fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    os::interrupted().map_err(|error| Failure::new(format!("listen for signals: {error}")))
}

/// A process and its descendants in a separate process group. Terminated on drop.
pub(crate) struct Group {
    pub(crate) child: Child,
    /// `None` once it has exited: its id may be reused then.
    id: Option<u32>,
}

impl Group {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let child = os::in_own_group(&mut command).spawn()?;
        let id = child.id();
        Ok(Self { child, id })
    }

    /// Waits for its exit. Cancel-safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        self.id = None;
        Ok(status)
    }

    /// Asks the whole group to terminate.
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

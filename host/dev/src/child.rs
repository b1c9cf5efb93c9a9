//! Child processes that end with this process, together with their descendants.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use wharf_report::Failure;

use crate::os;

/// Of a program that only prints something.
const PRINTED_WITHIN: Duration = Duration::from_secs(5);
/// Bytes.
const MAX_PRINTED: u64 = 4 << 10;

/// Resolves on a termination signal. Child processes do not get it: separate process groups receive
/// neither Ctrl-C nor the hangup of a closed terminal.
pub(crate) fn interrupted() -> Result<impl Future<Output = ()>, Failure> {
    os::interrupted().map_err(|error| Failure::new(format!("listen for signals: {error}")))
}

/// A process and its descendants in a separate process group. Terminated on drop.
pub(crate) struct Group {
    pub(crate) child: Child,
    /// `None` after it has exited: the id may then be reused.
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

/// What a program prints at once, such as its version: the first few kilobytes within a few seconds. Nothing if it does
/// not start.
pub(crate) async fn printed(mut command: Command) -> Vec<u8> {
    let mut bytes = Vec::new();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let Ok(mut group) = Group::spawn(command) else { return bytes };
    if let Some(stdout) = group.child.stdout.take() {
        // What was read until an error or the end of the time counts.
        let _ = timeout(PRINTED_WITHIN, stdout.take(MAX_PRINTED).read_to_end(&mut bytes)).await;
    }
    bytes
}

impl Drop for Group {
    fn drop(&mut self) {
        self.terminate();
    }
}

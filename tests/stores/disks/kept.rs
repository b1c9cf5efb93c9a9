//! Where a server keeps things, on a disk of its own: in the server of a database, or in its own files.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::servers::disk::Disk;
use crate::servers::{OnDisk, PASSWORD};
use crate::support::client::Client;
use crate::support::home::Home;
use crate::support::process::{binary, command};

/// Each of the store: longer than a request takes on a busy machine.
pub(super) const TIMEOUTS: Duration = Duration::from_millis(1500);

/// Where a server keeps things, on a disk of its own.
pub(super) trait Kept {
    /// Whether what was written is read while the disk is full.
    const READS: bool;
    /// Whether a write fails that takes too long.
    const HAS_TIMEOUTS: bool;
    /// Calls that fail for want of room in a few seconds.
    const CALLS: usize;
    /// As [`OnDisk::WRITES`].
    const WRITES: &str;

    fn new() -> Self;

    fn disk(&self) -> &Disk;

    fn settings(&self) -> String;

    /// The command that serves the plugins of that home.
    fn serve(&self, home: &Home) -> Command;

    /// Those that write.
    fn processes(&self, client: &mut Client) -> Vec<u32>;

    /// There is room again: what has to be done by hand.
    fn recover(&mut self) {}

    /// What writes ends at once, and so does the server of that client; the next one finds it running.
    fn crash(&mut self, client: Client);
}

/// In a server of a database.
pub(super) struct Shared<S> {
    server: S,
    url: String,
}

impl<S: OnDisk> Kept for Shared<S> {
    const READS: bool = S::GOES_ON;
    const HAS_TIMEOUTS: bool = true;
    const CALLS: usize = if S::GOES_ON { 200 } else { 12 };
    const WRITES: &str = S::WRITES;

    fn new() -> Self {
        let server = S::start_on_disk();
        let url = server.store("wharf").replace("wharf@", &format!("wharf:{PASSWORD}@"));
        Self { server, url }
    }

    fn disk(&self) -> &Disk {
        self.server.disk()
    }

    fn settings(&self) -> String {
        let time = humantime::format_duration(TIMEOUTS);
        format!("[store]\nurl = '{}'\nconnect-timeout = '{time}'\nrequest-timeout = '{time}'\n", self.url)
    }

    fn serve(&self, home: &Home) -> Command {
        command(home, ["serve".as_ref(), home.plugins().as_os_str()])
    }

    fn processes(&self, _: &mut Client) -> Vec<u32> {
        self.server.processes()
    }

    fn recover(&mut self) {
        if !S::GOES_ON {
            self.server.kill();
            self.server.start_again();
        }
    }

    fn crash(&mut self, client: Client) {
        self.server.kill();
        self.server.start_again();
        drop(client);
    }
}

/// In files of Wharf itself: its folders of state and data.
pub(super) struct Own {
    folder: tempfile::TempDir,
    disk: Disk,
}

impl Own {
    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }
}

impl Kept for Own {
    const READS: bool = true;
    const HAS_TIMEOUTS: bool = false;
    const CALLS: usize = 200;
    const WRITES: &str = "fsync,fdatasync";

    fn new() -> Self {
        let folder = tempfile::TempDir::with_prefix("wharf-disk-").expect("a temporary folder");
        let disk = Disk::at(folder.path(), 16);
        Self { folder, disk }
    }

    fn disk(&self) -> &Disk {
        &self.disk
    }

    fn settings(&self) -> String {
        String::new()
    }

    fn serve(&self, home: &Home) -> Command {
        let mut command = self.disk.command(&binary());
        command.arg("serve").arg(home.plugins()).env_clear().envs(home.environment());
        command.env("XDG_STATE_HOME", self.path("state")).env("XDG_DATA_HOME", self.path("data"));
        command
    }

    fn processes(&self, client: &mut Client) -> Vec<u32> {
        vec![client.process().id()]
    }

    fn crash(&mut self, mut client: Client) {
        client.process().signal(Signal::KILL);
        client.process().wait();
    }
}

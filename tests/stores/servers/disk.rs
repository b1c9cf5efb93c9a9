//! Disks that fail: one of few megabytes that can be filled, and one that is slow.
//!
//! The first is a file system in memory, in a mount namespace of its own, which is gone with the last program in it: also
//! if the tests are killed. Both need root.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::TIMEOUT;

/// A small disk.
pub(crate) struct Disk {
    folder: PathBuf,
    /// Keeps the namespace until its stdin is closed.
    keeper: Child,
}

impl Disk {
    /// In place of that folder, with its owner, for the programs of [`Self::command`] alone.
    pub(crate) fn at(folder: &Path, mebibytes: u32) -> Self {
        let owner = fs::metadata(folder).expect("a folder");
        let options = format!("size={mebibytes}m,mode=0700,uid={},gid={}", owner.uid(), owner.gid());
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t tmpfs -o \"$0\" tmpfs \"$1\" && echo && exec cat"]);
        command.arg(options).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("util-linux is installed");
        let mut line = [0];
        keeper.stdout.as_mut().expect("a pipe").read_exact(&mut line).expect("root may mount it");
        Self { folder: folder.to_owned(), keeper }
    }

    /// Runs a program that has this disk.
    pub(crate) fn command(&self, program: &Path) -> Command {
        self.command_of(None, program)
    }

    /// The same, as that user and group.
    pub(crate) fn command_of(&self, user: Option<(u32, u32)>, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.keeper.id()));
        if let Some((user, group)) = user {
            command.args([format!("--setgid={group}"), format!("--setuid={user}")]);
        }
        command.arg("--").arg(program);
        command
    }

    /// Leaves no room for anything.
    pub(crate) fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("a file");
        let full = std::iter::repeat_with(|| ballast.write_all(&[0; 4096])).find_map(Result::err);
        assert_eq!(full.expect("it ends with one").kind(), ErrorKind::StorageFull);
    }

    pub(crate) fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("it is there");
    }

    fn ballast(&self) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(self.folder.strip_prefix("/").expect("an absolute path")).join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A disk takes long for each write of some processes, until this is dropped.
pub(crate) struct Slow(Child);

impl Slow {
    /// `calls`: of the system that write.
    pub(crate) fn new(processes: &[u32], calls: &str, takes: Duration) -> Self {
        let mut command = Command::new("strace");
        command.args(["--follow-forks", "-e", &format!("trace={calls}"), "--output", "/dev/null"]);
        command.args(["-e", &format!("inject={calls}:delay_enter={}", takes.as_micros())]);
        for process in processes {
            command.arg("--attach").arg(process.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let slow = Self(command.spawn().expect("strace is installed: apt-get install strace"));
        let deadline = Instant::now() + TIMEOUT;
        while !processes.iter().all(|process| is_traced(*process)) {
            assert!(Instant::now() < deadline, "not all of their threads are traced");
            std::thread::sleep(Duration::from_millis(5));
        }
        slow
    }
}

impl Drop for Slow {
    /// They go on without it.
    fn drop(&mut self) {
        if let Some(strace) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(strace, Signal::INT);
        }
        let _ = self.0.wait();
    }
}

/// Whether all threads of a process are; one that has ended is no exception.
fn is_traced(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| fs::read_to_string(thread.path().join("status")))
        .all(|status| status.map_or(true, |status| !status.contains("TracerPid:\t0\n")))
}

//! PostgreSQL.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::disk::Disk;
use super::{OnDisk, PASSWORD, Server, USER, certify, free_port};
use crate::support::TIMEOUT;

pub(crate) struct PostgresServer {
    folder: TempDir,
    port: u16,
    disk: Option<Disk>,
    child: Option<Child>,
}

impl PostgresServer {
    /// With TLS for `localhost`, and the user `wharf`, who has a password. `disk`: the mebibytes of a disk for its data.
    fn new(disk: Option<u32>) -> Self {
        let folder = TempDir::with_prefix("wharf-postgres-").expect("a temporary folder");
        certify(folder.path());
        fs::write(folder.path().join("password"), PASSWORD).expect("a file");
        for name in ["password", "cert.pem", "key.pem"] {
            let file = folder.path().join(name);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("its owner's");
            give(&file);
        }
        give(folder.path());
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder");
        give(&data);
        let disk = disk.map(|mebibytes| Disk::at(&data, mebibytes));
        let mut server = Self { folder, port: free_port(), disk, child: None };
        let mut command = server.command("initdb");
        command.args(["--username", USER, "--auth", "scram-sha-256", "--pwfile"]).arg(server.path("password"));
        // Not as bytes are compared.
        command.args(["--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--pgdata"]).arg(server.path("data"));
        succeeded(command.output());
        server.start_again();
        server
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a database, without a password.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements, each in a transaction of its own.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> String {
        let output = succeeded(self.psql(database, statement).output());
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The command that does.
    pub(crate) fn psql(&self, database: &str, statement: &str) -> Command {
        let mut command = Command::new(bin().join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "-v", "ON_ERROR_STOP=1"]);
        command.args(["--host", "127.0.0.1", "--port", &self.port.to_string(), "--username", USER]);
        command.args(["--dbname", database, "--command", statement]).env("PGPASSWORD", PASSWORD);
        command
    }

    fn children(&self) -> Vec<Pid> {
        let id = self.child.as_ref().expect("it runs").id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("a process");
        let ids = children.split_whitespace().map(|process| process.parse().expect("an id"));
        ids.filter_map(Pid::from_raw).collect()
    }

    fn signal_all(&self, signal: Signal) {
        // Listed first: whose parent has ended is a child of another process.
        let children = self.children();
        self.signal(self.child.as_ref().expect("it runs"), signal);
        for process in children {
            // One of them may have ended.
            let _ = kill_process(process, signal);
        }
    }

    fn is_ready(&self) -> bool {
        self.psql("postgres", "SELECT 1").stderr(Stdio::null()).output().is_ok_and(|output| output.status.success())
    }

    fn signal(&self, child: &Child, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("an id");
        kill_process(process, signal).expect("it is ours");
    }

    /// A program of it, as a user that may run it.
    fn command(&self, program: &str) -> Command {
        let (program, user) = (bin().join(program), other_user());
        let mut command = match &self.disk {
            Some(disk) => disk.command_of(user, &program),
            None => Command::new(program),
        };
        if let Some((user, group)) = user.filter(|_| self.disk.is_none()) {
            command.uid(user).gid(group);
        }
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Server for PostgresServer {
    fn start() -> Self {
        Self::new(None)
    }

    fn store(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE \"{name}\""));
        self.url(name)
    }

    fn kill(&mut self) {
        let children = self.children();
        self.signal_all(Signal::KILL);
        let mut child = self.child.take().expect("it runs");
        child.wait().expect("it ended");
        let deadline = Instant::now() + TIMEOUT;
        // Until then one of them may answer.
        while children.iter().any(|process| runs(*process)) {
            assert!(Instant::now() < deadline, "it runs still");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start_again(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let mut command = self.command("postgres");
            command.arg("-D").arg(self.path("data")).arg("-k").arg(self.folder.path());
            command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "ssl=on"]);
            for (setting, file) in [("ssl_cert_file", "cert.pem"), ("ssl_key_file", "key.pem")] {
                command.arg("-c").arg(format!("{setting}={}", self.path(file).display()));
            }
            let mut child = command.spawn().expect("PostgreSQL starts");
            while child.try_wait().expect("a child").is_none() {
                if self.is_ready() {
                    self.child = Some(child);
                    return;
                }
                assert!(Instant::now() < deadline, "it is not ready");
                std::thread::sleep(Duration::from_millis(20));
            }
            // Processes of the one before are there still.
            assert!(Instant::now() < deadline, "it does not start: {}", self.folder.path().display());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }
}

impl OnDisk for PostgresServer {
    const WRITES: &str = "fsync,fdatasync";
    const GOES_ON: bool = true;

    fn start_on_disk() -> Self {
        Self::new(Some(128))
    }

    fn disk(&self) -> &Disk {
        self.disk.as_ref().expect("it has one")
    }

    fn processes(&self) -> Vec<u32> {
        let children = self.children().into_iter().map(|process| process.as_raw_nonzero().get().unsigned_abs());
        self.child.iter().map(Child::id).chain(children).collect()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Should it be frozen.
            self.signal(&child, Signal::CONT);
            self.signal(&child, Signal::QUIT);
            let _ = child.wait();
        }
    }
}

/// Whether a process has not ended; one whose end nobody has asked for has.
fn runs(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero()));
    status.is_ok_and(|status| !status.contains("State:\tZ"))
}

fn succeeded(output: std::io::Result<Output>) -> Output {
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The folder of its programs: Debian's newest, or where `initdb` is.
fn bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = newest.map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let found = debian.or_else(|| std::env::split_paths(&path).find(|folder| folder.join("initdb").exists()));
    found.expect("PostgreSQL is installed: apt-get install postgresql")
}

/// It does not run as root.
fn other_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("users");
    let ids = |name: &str| {
        let fields: Vec<&str> = users.lines().find(|line| line.starts_with(&format!("{name}:")))?.split(':').collect();
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody"))
}

/// Makes that user its owner.
fn give(path: &Path) {
    if let Some((user, group)) = other_user() {
        chown(path, Some(user), Some(group)).expect("root may");
    }
}

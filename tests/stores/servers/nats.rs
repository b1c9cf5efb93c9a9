//! NATS with JetStream.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::disk::Disk;
use super::{OnDisk, PASSWORD, Server, USER, certify, free_port};
use crate::support::TIMEOUT;

pub(crate) struct NatsServer {
    folder: TempDir,
    port: u16,
    disk: Option<Disk>,
    child: Option<Child>,
}

impl NatsServer {
    /// With a configuration, in which `FOLDER` is a folder of its own. There is a certificate for `localhost` in it.
    pub(crate) fn with(configuration: &str) -> Self {
        Self::new(configuration, None)
    }

    /// `disk`: the mebibytes of a disk for its data.
    fn new(configuration: &str, disk: Option<u32>) -> Self {
        let folder = TempDir::with_prefix("wharf-nats-").expect("a temporary folder");
        certify(folder.path());
        let port = free_port();
        let configuration = configuration.replace("FOLDER", folder.path().to_str().expect("UTF-8"));
        let text = format!("listen: \"127.0.0.1:{port}\"\n{configuration}");
        fs::write(folder.path().join("nats.conf"), text).expect("a file");
        fs::create_dir(folder.path().join("data")).expect("a folder");
        let disk = disk.map(|mebibytes| Disk::at(&folder.path().join("data"), mebibytes));
        let mut server = Self { folder, port, disk, child: None };
        server.start_again();
        server
    }

    /// Whether the installed release agrees on conditional writes with its replicas: from 2.9.21 on.
    pub(crate) fn keeps_replicas() -> bool {
        let output = Command::new("nats-server").arg("--version").output().expect("NATS is installed");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let version = text.trim().rsplit('v').next().expect("a version");
        let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
        numbers >= vec![2, 9, 21]
    }

    /// Three servers that know each other.
    pub(crate) fn cluster() -> Vec<Self> {
        let ports = [(); 3].map(|()| free_port());
        let routes = ports.map(|port| format!("\"nats://127.0.0.1:{port}\"")).join(", ");
        let with = |(number, port): (usize, &u16)| {
            let cluster = format!("name: wharf, listen: \"127.0.0.1:{port}\", routes: [{routes}]");
            Self::with(&format!("server_name: n{number}\ncluster {{ {cluster} }}\n{}", Self::configuration("")))
        };
        ports.iter().enumerate().map(with).collect()
    }

    /// Which lets in `wharf` with a password.
    pub(crate) fn configuration(jetstream: &str) -> String {
        format!(
            "jetstream {{ store_dir: \"FOLDER/data\"{jetstream} }}\n\
             authorization {{ users: [{{ user: {USER}, password: {PASSWORD} }}] }}\n"
        )
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A request of an operator; the answer.
    pub(crate) fn ask(&self, subject: &str, body: &str) -> Value {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it runs");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let hello = format!("{{\"verbose\":false,\"user\":\"{USER}\",\"pass\":\"{PASSWORD}\"}}");
        let request = format!("CONNECT {hello}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{body}\r\n", body.len());
        (&stream).write_all(request.as_bytes()).expect("sent");
        let mut line = String::new();
        while !line.starts_with("MSG ") {
            line.clear();
            assert!(reader.read_line(&mut line).expect("an answer") > 0 && !line.starts_with("-ERR"), "{line}");
        }
        let size = line.split_whitespace().last().and_then(|size| size.parse().ok()).expect("a size");
        let mut answer = vec![0; size];
        reader.read_exact(&mut answer).expect("an answer");
        serde_json::from_slice(&answer).expect("JSON")
    }

    /// The state of a stream, with its subjects.
    pub(crate) fn state(&self, stream: &str) -> Value {
        let mut answer = self.ask(&format!("$JS.API.STREAM.INFO.{stream}"), "{\"subjects_filter\":\">\"}");
        answer["state"].take()
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.as_ref().expect("it runs").id();
        let process = Pid::from_raw(i32::try_from(id).expect("an id")).expect("an id");
        kill_process(process, signal).expect("it is ours");
    }

    /// JetStream is ready when a request of it is answered, and that comes after clients are let in.
    fn is_ready(&self) -> bool {
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("INFO ")
    }
}

impl Server for NatsServer {
    fn start() -> Self {
        Self::with(&Self::configuration(""))
    }

    fn store(&self, name: &str) -> String {
        format!("nats://{USER}@127.0.0.1:{}/{name}", self.port)
    }

    fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.child.take().expect("it runs").wait().expect("it ended");
    }

    fn start_again(&mut self) {
        let log = fs::File::create(self.path("log")).expect("a file");
        let program = "nats-server";
        let mut command =
            self.disk.as_ref().map_or_else(|| Command::new(program), |disk| disk.command(program.as_ref()));
        command.arg("-c").arg(self.path("nats.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().expect("NATS is installed: apt-get install nats-server"));
        let deadline = Instant::now() + TIMEOUT;
        while !self.is_ready() {
            assert!(Instant::now() < deadline, "{}", fs::read_to_string(self.path("log")).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn freeze(&self) {
        self.signal(Signal::STOP);
        let id = self.child.as_ref().expect("it runs").id();
        let is_stopped = |thread: fs::DirEntry| {
            fs::read_to_string(thread.path().join("status")).is_ok_and(|status| status.contains("State:\tT"))
        };
        let deadline = Instant::now() + TIMEOUT;
        // Its threads stop one after the other, and until then one of them may answer.
        while !fs::read_dir(format!("/proc/{id}/task")).expect("a process").flatten().all(is_stopped) {
            assert!(Instant::now() < deadline, "it runs still");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn thaw(&self) {
        self.signal(Signal::CONT);
    }
}

impl OnDisk for NatsServer {
    // It syncs every two minutes.
    const WRITES: &str = "pwrite64";
    // 2.9 answers nothing any more.
    const GOES_ON: bool = false;

    fn start_on_disk() -> Self {
        Self::new(&Self::configuration(""), Some(32))
    }

    fn disk(&self) -> &Disk {
        self.disk.as_ref().expect("it has one")
    }

    fn processes(&self) -> Vec<u32> {
        self.child.iter().map(Child::id).collect()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}

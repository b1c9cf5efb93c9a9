//! The real binary: run to completion, or serving on its pipes.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use super::TIMEOUT;
use super::home::Home;
use super::wire::{Received, Wire};

/// The binary under test. `WHARF_TEST_BIN` sets another one.
pub fn binary() -> PathBuf {
    std::env::var_os("WHARF_TEST_BIN").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_wharf")), PathBuf::from)
}

/// A command in that home, without the environment of the tests.
pub fn command<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).env_clear().envs(home.environment()).current_dir(home.path("home"));
    command
}

/// Runs a command to completion, with an empty stdin. Its stderr is without the lines that say what a slow machine waits
/// for.
pub fn run<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I) -> Output {
    run_waiting(home, arguments).0
}

/// The same, and those lines.
pub fn run_waiting<I: IntoIterator<Item: AsRef<OsStr>>>(home: &Home, arguments: I) -> (Output, Vec<String>) {
    let output = command(home, arguments).stdin(Stdio::null()).output().expect("the binary runs");
    let lines = output.stderr.split_inclusive(|byte| *byte == b'\n');
    let is_wait = |line: &&[u8]| {
        let begins = |start: &&str| line.starts_with(start.as_bytes());
        line.ends_with(" …\n".as_bytes())
            && ["checking ", "downloading ", "loading ", "looking for ", "publishing ", "waiting for "]
                .iter()
                .any(begins)
    };
    let (waits, stderr): (Vec<&[u8]>, Vec<&[u8]>) = lines.partition(is_wait);
    let waits = waits.into_iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    (Output { stderr: stderr.concat(), ..output }, waits)
}

/// Runs the `wharf` command that a text suggests after `before`, as a shell would, with `--yes`.
pub fn run_hint(home: &Home, text: &str, before: &str) -> Output {
    let hint = text.split(before).nth(1).unwrap_or_else(|| panic!("no {before:?} in {text}"));
    let line = hint.lines().next().expect("a line").split('"').next().expect("the hint's end");
    let command = line.trim_start().strip_prefix("wharf ").unwrap_or_else(|| panic!("no command: {line}"));
    run(home, command.split(' ').map(|word| word.trim_matches('\'')).chain(["--yes"]))
}

/// Resident memory of a process in bytes.
pub fn resident(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a running process");
    let kib = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).expect("a running process has memory");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number of KiB")
    };
    // Without pages of the program's file, which a debug build has many of, and which are read when they first run.
    (kib("RssAnon:") + kib("RssShmem:")) * 1024
}

/// The host's stderr, and a signal when it grows.
#[derive(Default)]
struct Log {
    text: Mutex<String>,
    grown: Condvar,
}

/// `wharf serve` on its pipes. Killed when dropped.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Arc<Log>,
}

impl Process {
    /// Serves the home's plugin folder.
    pub fn serve(home: &Home) -> Self {
        Self::start(command(home, ["serve".as_ref(), home.plugins().as_os_str()]))
    }

    /// As [`Process::serve`], from a shell that runs `first` before.
    pub fn serve_after(home: &Home, first: &str) -> Self {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{first}; exec \"$0\" serve \"$1\""))
            .args([binary().as_os_str(), home.plugins().as_os_str()])
            .env_clear()
            .envs(home.environment());
        Self::start(shell)
    }

    /// Starts that command with all three streams piped.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let Ok(line) = line else { return };
                let line = String::from_utf8(line).unwrap_or_else(|bad| format!("not UTF-8: {bad}"));
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("a pipe");
        let log = Arc::new(Log::default());
        let writer = Arc::clone(&log);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = stderr.read(&mut chunk) {
                let text = String::from_utf8_lossy(&chunk[..n]);
                writer.text.lock().expect("no writer panics").push_str(&text);
                writer.grown.notify_all();
            }
        });
        Self { stdin: child.stdin.take(), child, lines, log }
    }

    /// Its stderr so far.
    pub fn log(&self) -> String {
        self.log.text.lock().expect("no writer panics").clone()
    }

    /// Waits until stderr contains that text, and returns all of stderr.
    ///
    /// # Panics
    /// After the time limit.
    pub fn log_with(&self, wanted: &str) -> String {
        let text = self.log.text.lock().expect("no writer panics");
        let missing = |text: &mut String| !text.contains(wanted);
        let (text, ended) = self.log.grown.wait_timeout_while(text, TIMEOUT, missing).expect("no writer panics");
        assert!(!ended.timed_out(), "no {wanted:?} in the log:\n{text}");
        text.clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes without a newline. False if the host no longer reads.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> bool {
        let stdin = self.stdin.as_mut().expect("not closed by the test");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).is_ok()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process can be signalled");
    }

    /// Stops it, all of its threads: until SIGCONT.
    #[allow(dead_code, reason = "only the tests of stores do that")]
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        let until = Instant::now() + TIMEOUT;
        let is_frozen = |thread: std::io::Result<std::fs::DirEntry>| {
            let stat = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("stat")));
            // A thread that has ended meanwhile does nothing either. The state is after the name in brackets.
            stat.map_or(true, |stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 'Z'])))
        };
        let threads = format!("/proc/{}/task", self.id());
        while !std::fs::read_dir(&threads).expect("a process").all(is_frozen) {
            assert!(Instant::now() < until, "it goes on");
            std::thread::yield_now();
        }
    }

    /// Limits its open files from now on; those that are open stay so.
    pub fn limit_open_files(&self, count: u64) {
        let limit = Rlimit { current: Some(count), ..getrlimit(Resource::Nofile) };
        prlimit(Some(self.pid()), Resource::Nofile, limit).expect("a process of this user");
    }

    /// Limits its open files from now on to those that are open, and `more`.
    pub fn limit_further_open_files(&self, more: usize) {
        let entries = std::fs::read_dir(format!("/proc/{}/fd", self.id())).expect("a running process");
        let open: Vec<u64> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        let mut free = (0..).filter(|number| !open.contains(number));
        self.limit_open_files(free.nth(more).expect("a number"));
    }

    /// Closes its stdin, and waits for its exit.
    ///
    /// # Panics
    /// After the time limit.
    pub fn wait(&mut self) -> ExitStatus {
        self.stdin = None;
        let deadline = Instant::now() + TIMEOUT;
        // Waits for the end of stdout first, so that the loop below is short.
        while self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(Instant::now() < deadline, "the host has not exited; its log:\n{}", self.log());
            std::thread::yield_now();
        }
    }

    /// Its exit status, if it has exited.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of ours")
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> u64 {
        resident(self.id())
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.id()).expect("a process id")).expect("not zero")
    }
}

impl Wire for Process {
    fn send(&mut self, frame: &str) {
        self.send_bytes(format!("{frame}\n").as_bytes());
    }

    fn receive(&mut self, time_limit: Duration) -> Received {
        match self.lines.recv_timeout(time_limit) {
            Ok(line) => Received::Frame(line),
            Err(RecvTimeoutError::Disconnected) => Received::Closed,
            Err(RecvTimeoutError::Timeout) => Received::TimedOut,
        }
    }

    fn close(&mut self) {
        self.stdin = None;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

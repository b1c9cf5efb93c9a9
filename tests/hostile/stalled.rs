//! A host on stdio whose client sends requests and does not read.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::home::Home;
use crate::support::process::{command, resident};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Grace period after a signal, and a margin for a loaded machine.
const GRACE: Duration = Duration::from_secs(5 + 4);

pub(crate) struct StalledClient {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    before: u64,
    /// Removed with it.
    _home: Home,
}

impl StalledClient {
    /// Serves that home, and measures its memory once its plugins are loaded.
    pub(crate) fn serve(home: Home) -> Self {
        let mut command = command(&home, ["serve".as_ref(), home.plugins().as_os_str()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let mut stalled = Self { child, input, output, before: 0, _home: home };
        let hello = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tests","version":"0"}}}"#;
        stalled.send(&format!("{hello}\n{}\n", r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#));
        for _ in 0..2 {
            stalled.read_line();
        }
        stalled.before = resident(stalled.child.id());
        stalled
    }

    /// Sends text.
    pub(crate) fn send(&mut self, text: &str) {
        self.input.as_mut().and_then(|input| input.write_all(text.as_bytes()).ok()).expect("the host reads");
    }

    /// Sends text on a background thread.
    pub(crate) fn send_in_background(&mut self, text: String) {
        let mut input = self.input.take().expect("not closed by the test");
        std::thread::spawn(move || {
            // The host may exit before it has read everything.
            let _ = input.write_all(text.as_bytes());
            std::thread::park_timeout(TIMEOUT);
        });
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        self.output.as_mut().expect("not taken").read_line(&mut line).expect("UTF-8");
        assert!(!line.is_empty(), "the host has ended");
        line
    }

    /// Growth of its memory since the start, in bytes.
    pub(crate) fn growth(&self) -> u64 {
        resident(self.child.id()).saturating_sub(self.before)
    }

    /// Checks for that time that it grows by at most that many bytes.
    pub(crate) fn grows_at_most(&self, bytes: u64, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            let grown = self.growth();
            let at = began.elapsed();
            assert!(grown <= bytes, "grown by {} MiB after {at:?}, of {} at most", grown >> 20, bytes >> 20);
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Reads on a background thread, and counts the lines that contain that text.
    pub(crate) fn read_in_background(&mut self, wanted: &'static str) -> (Arc<AtomicUsize>, JoinHandle<()>) {
        let mut output = self.output.take().expect("not taken");
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let thread = std::thread::spawn(move || {
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // The id is at the beginning of a line.
                let head = String::from_utf8_lossy(&line[..line.len().min(200)]);
                counter.fetch_add(usize::from(head.contains(wanted)), Ordering::SeqCst);
                line.clear();
            }
        });
        (count, thread)
    }

    /// Waits until its growth is at most that many bytes.
    pub(crate) fn shrinks_to(&self, bytes: u64, time: Duration) {
        let began = Instant::now();
        while self.growth() > bytes {
            let more = self.growth() >> 20;
            assert!(began.elapsed() < time, "still grown by {more} MiB after {time:?}, of {} at most", bytes >> 20);
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }

    /// Closes its input.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until it exits within its grace period, after SIGTERM if `signal`.
    pub(crate) fn expect_clean_exit(mut self, signal: bool) {
        let began = Instant::now();
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("a process id")).expect("not zero");
        if signal {
            kill_process(pid, Signal::TERM).expect("it can be signalled");
        }
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(began.elapsed() < GRACE, "the host has not exited after {GRACE:?}");
            std::thread::park_timeout(Duration::from_millis(20));
        };
        assert!(status.success(), "it exited with {status} (signal {:?})", status.signal());
    }
}

impl Drop for StalledClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A server process and its two pipes, used from the calling thread: a hand-over between threads
//! would be in every figure.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::home::{Home, tail};

/// A server that runs longer has hung: it is killed, and reads from it fail.
const MAX_LIFETIME: Duration = Duration::from_secs(180);
/// Time to exit after the end of input. Also the time in which it must report its address.
const GRACE: Duration = Duration::from_secs(5);

pub struct Process {
    id: u32,
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    log: PathBuf,
    /// Dropping it ends the watchdog thread.
    _watchdog: Sender<()>,
}

impl Process {
    pub fn start(mut command: Command, home: &Home) -> Result<Self> {
        home.set_environment(&mut command);
        let log = home.log();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log).context("create a log file")?);
        let mut child = command.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("open the server's stdout")?;
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        let (watchdog, dropped) = channel::<()>();
        let victim = Arc::clone(&child);
        thread::spawn(move || {
            if dropped.recv_timeout(MAX_LIFETIME) == Err(RecvTimeoutError::Timeout) {
                let _ = victim.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        Ok(Self { id, child, stdin, stdout: BufReader::with_capacity(64 << 10, stdout), log, _watchdog: watchdog })
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// The address in its log. Waits for it.
    pub fn address(&self) -> Result<SocketAddr> {
        let deadline = Instant::now() + GRACE;
        loop {
            let log = std::fs::read_to_string(&self.log).context("read the server's log")?;
            let line = log.split_once("listening on http://").and_then(|(_, rest)| rest.split_once("/mcp\n"));
            if let Some((address, _)) = line {
                return address.parse().with_context(|| format!("read the address {address}"));
            }
            ensure!(Instant::now() < deadline, "find the server's address; its log:\n{log}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until its log contains `text`, at most [`MAX_LIFETIME`].
    pub fn wait_for_log(&self, text: &str) -> Result<()> {
        let deadline = Instant::now() + MAX_LIFETIME;
        while !std::fs::read_to_string(&self.log).context("read the server's log")?.contains(text) {
            ensure!(Instant::now() < deadline, "find {text:?} in the server's log:\n{}", tail(&self.log));
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Both pipes, for use from two threads.
    pub fn pipes(&mut self) -> Result<(&mut ChildStdin, &mut BufReader<ChildStdout>)> {
        let stdin = self.stdin.as_mut().context("write to a server whose input is closed")?;
        Ok((stdin, &mut self.stdout))
    }

    /// Kills the server, which may not be reading its input.
    pub fn kill(&self) {
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }

    /// Writes whole lines, including newlines.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("write to a server whose input is closed")?;
        stdin.write_all(lines).with_context(|| format!("write to the server; its log:\n{}", tail(&self.log)))
    }

    /// Waits for a line and appends it, including its newline.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> Result<()> {
        let n = self.stdout.read_until(b'\n', line).context("read from the server")?;
        if n == 0 { self.ended() } else { Ok(()) }
    }

    /// Waits for some bytes, appends all that are available, and returns the number of newlines.
    pub fn read_some(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        let some = self.stdout.fill_buf().context("read from the server")?;
        let (n, lines) = (some.len(), some.iter().filter(|byte| **byte == b'\n').count());
        bytes.extend(some);
        self.stdout.consume(n);
        if n == 0 { self.ended() } else { Ok(lines) }
    }

    fn ended<T>(&self) -> Result<T> {
        bail!("read from the server: it has ended, or hung for {MAX_LIFETIME:?}; its log:\n{}", tail(&self.log))
    }
}

impl Drop for Process {
    /// Closes its input, and kills it only after [`GRACE`]: it may be writing its cache.
    fn drop(&mut self) {
        self.stdin = None;
        let deadline = Instant::now() + GRACE;
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        while Instant::now() < deadline {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

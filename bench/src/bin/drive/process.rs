//! A server's process and its two pipes, read and written without a thread in between:
//! a hand-over would be in every figure.
//! It knows lines, not what they say.

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

/// A server that lives longer has hung: it is killed, and who reads from it gets an error.
const LIFE: Duration = Duration::from_secs(180);
/// For ending by itself once its input has ended.
const FAREWELL: Duration = Duration::from_secs(5);

pub struct Process {
    id: u32,
    child: Arc<Mutex<Child>>,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    log: PathBuf,
    /// Dropped, it dismisses the thread that would kill the server.
    _watched: Sender<()>,
}

impl Process {
    pub fn start(mut command: Command, home: &Home) -> Result<Self> {
        home.furnish(&mut command);
        let log = home.log();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&log).context("make a log")?);
        let mut child = command.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("open the server's stdout")?;
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        let (watched, unwatched) = channel::<()>();
        let victim = Arc::clone(&child);
        thread::spawn(move || {
            if unwatched.recv_timeout(LIFE) == Err(RecvTimeoutError::Timeout) {
                let _ = victim.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        Ok(Self { id, child, stdin, stdout: BufReader::with_capacity(64 << 10, stdout), log, _watched: watched })
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// The address that it tells in its log.
    pub fn address(&self) -> Result<SocketAddr> {
        let deadline = Instant::now() + FAREWELL;
        loop {
            let log = std::fs::read_to_string(&self.log).context("read the server's log")?;
            let told = log.split_once("listening on http://").and_then(|(_, rest)| rest.split_once("/mcp\n"));
            if let Some((address, _)) = told {
                return address.parse().with_context(|| format!("read the address {address}"));
            }
            ensure!(Instant::now() < deadline, "find the server's address; its log:\n{log}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until its log says that; it may take as long as it lives.
    pub fn logged(&self, text: &str) -> Result<()> {
        let deadline = Instant::now() + LIFE;
        while !std::fs::read_to_string(&self.log).context("read the server's log")?.contains(text) {
            ensure!(Instant::now() < deadline, "find {text:?} in the server's log:\n{}", tail(&self.log));
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Its two pipes, to be used at the same time.
    pub fn pipes(&mut self) -> Result<(&mut ChildStdin, &mut BufReader<ChildStdout>)> {
        let stdin = self.stdin.as_mut().context("write to a server that was told to end")?;
        Ok((stdin, &mut self.stdout))
    }

    /// Ends a server that does not read its input.
    pub fn kill(&self) {
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }

    /// Writes whole lines, their newlines included.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().context("write to a server that was told to end")?;
        stdin.write_all(lines).with_context(|| format!("write to the server; its log:\n{}", tail(&self.log)))
    }

    /// Waits for a line and appends it, its newline included.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> Result<()> {
        let n = self.stdout.read_until(b'\n', line).context("read from the server")?;
        if n == 0 { self.ended() } else { Ok(()) }
    }

    /// Waits for some bytes, appends all that are there, and says how many lines they end.
    pub fn read_some(&mut self, bytes: &mut Vec<u8>) -> Result<usize> {
        let some = self.stdout.fill_buf().context("read from the server")?;
        let (n, lines) = (some.len(), some.iter().filter(|byte| **byte == b'\n').count());
        bytes.extend(some);
        self.stdout.consume(n);
        if n == 0 { self.ended() } else { Ok(lines) }
    }

    fn ended<T>(&self) -> Result<T> {
        bail!("read from the server: it has ended, or hung for {LIFE:?}; its log:\n{}", tail(&self.log))
    }
}

impl Drop for Process {
    /// Ends its input, and kills it only if that is not enough: it may be writing its cache.
    fn drop(&mut self) {
        self.stdin = None;
        let deadline = Instant::now() + FAREWELL;
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

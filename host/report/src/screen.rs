//! The stderr of a command that a person waits for: whole lines, and below them, on a terminal, what the command
//! waits for.

use std::io::{self, IsTerminal as _, Write as _};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::shown::line;

/// To the line's start, and erase it.
const ERASE: &str = "\r\u{1b}[2K";
/// A line that is too long is cut at the terminal's margin, since only one line can be erased.
const CUT: (&str, &str) = ("\u{1b}[?7l", "\u{1b}[?7h");
/// Between two times shown.
const SECOND: Duration = Duration::from_secs(1);
/// How long a log or a script gets no output.
const UNANNOUNCED: Duration = Duration::from_secs(3);
/// Maximum characters of it.
const MAX_PROGRESS: usize = 300;

/// Clones share it.
#[derive(Clone, Default)]
pub struct Screen(Arc<Mutex<Shown>>);

#[derive(Default)]
struct Shown {
    /// The line of progress that is on the terminal.
    progress: Option<String>,
    guests_muted: bool,
}

impl Screen {
    /// Shows or hides what guests print and log from now on.
    pub fn mute_guests(&self, muted: bool) {
        self.lock().guests_muted = muted;
    }

    pub fn are_guests_muted(&self) -> bool {
        self.lock().guests_muted
    }

    /// Replaces the line of progress. Off a terminal it does nothing.
    pub fn show_progress(&self, text: &str) {
        if io::stderr().is_terminal() {
            let text = line(text).chars().take(MAX_PROGRESS).collect();
            let mut shown = self.lock();
            shown.progress = Some(text);
            shown.write(&[]);
        }
    }

    /// Waits for `work`, and shows what is waited for and how long, once that is longer than a second. A part of the
    /// work may be timed too.
    pub async fn timed<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        let (mut work, started, mut is_shown) = (pin!(work), Instant::now(), false);
        loop {
            match timeout(SECOND, &mut work).await {
                Ok(result) => {
                    if is_shown {
                        self.end_progress();
                    }
                    return result;
                }
                Err(_) => {
                    self.show_progress(&format!("{what}, {} s", started.elapsed().as_secs()));
                    is_shown = true;
                }
            }
        }
    }

    /// The same for work that may take a minute: off a terminal one line says so, once it is longer than a few seconds.
    pub async fn announced<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        if io::stderr().is_terminal() {
            return self.timed(what, work).await;
        }
        let mut work = pin!(work);
        if let Ok(result) = timeout(UNANNOUNCED, &mut work).await {
            return result;
        }
        let what: String = line(what).chars().take(MAX_PROGRESS).collect();
        self.write_lines(format!("{what} …\n").as_bytes());
        work.await
    }

    /// Writes whole lines, above the line of progress.
    pub fn write_lines(&self, lines: &[u8]) {
        if !lines.is_empty() {
            self.lock().write(lines);
        }
    }

    /// Erases the line of progress.
    pub fn end_progress(&self) {
        let mut shown = self.lock();
        if shown.progress.take().is_some() {
            write(ERASE.as_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    /// Writes whole lines above the progress.
    fn write(&self, lines: &[u8]) {
        match &self.progress {
            None => write(lines),
            Some(progress) => {
                let (on, off) = CUT;
                write(&[ERASE.as_bytes(), lines, on.as_bytes(), progress.as_bytes(), off.as_bytes()].concat());
            }
        }
    }
}

/// In one call, since other processes may write there too. There is nowhere to report an error.
fn write(bytes: &[u8]) {
    let _ = io::stderr().lock().write_all(bytes);
}

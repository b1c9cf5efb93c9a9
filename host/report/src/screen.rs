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
/// Until something is shown, and between two times.
const SECOND: Duration = Duration::from_secs(1);
/// Off a terminal, between two lines about work that may take minutes.
const NOW_AND_THEN: Duration = Duration::from_secs(10);
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

    /// Waits for `work`, and shows what is waited for, once that is longer than a second: on a terminal with the
    /// seconds, otherwise as one line. A part of the work may be timed too.
    pub async fn timed<T>(&self, what: &str, work: impl Future<Output = T>) -> T {
        self.timed_as(|| what.to_owned(), work).await
    }

    /// The same for work whose description changes meanwhile.
    pub async fn timed_as<T>(&self, what: impl FnMut() -> String, work: impl Future<Output = T>) -> T {
        self.shown_every(None, what, work).await
    }

    /// The same for work that may take minutes: off a terminal there is a line every ten seconds.
    pub async fn followed<T>(&self, what: impl FnMut() -> String, work: impl Future<Output = T>) -> T {
        self.shown_every(Some(NOW_AND_THEN), what, work).await
    }

    /// `line_every`: after which time there is another line off a terminal.
    async fn shown_every<T>(
        &self,
        line_every: Option<Duration>,
        mut what: impl FnMut() -> String,
        work: impl Future<Output = T>,
    ) -> T {
        let (mut work, started, mut is_shown) = (pin!(work), Instant::now(), false);
        let is_terminal = io::stderr().is_terminal();
        loop {
            let pause = match line_every {
                _ if is_terminal || !is_shown => SECOND,
                Some(pause) => pause,
                None => return work.await,
            };
            match timeout(pause, &mut work).await {
                Ok(result) => {
                    if is_shown {
                        self.end_progress();
                    }
                    return result;
                }
                Err(_) if is_terminal => {
                    self.show_progress(&format!("{}, {} s", what(), started.elapsed().as_secs()));
                }
                Err(_) => {
                    let what: String = line(&what()).chars().take(MAX_PROGRESS).collect();
                    self.write_lines(format!("{what} …\n").as_bytes());
                }
            }
            is_shown = true;
        }
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

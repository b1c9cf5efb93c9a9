//! Readings of the audit log: what each user's calls cost since the command began. No other place has users.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;
use wharf_report::ShowPath as _;

use super::buckets::Buckets;
use super::reading::{Counts, Key, Reading, Total};
use crate::audit::{MAX_LINE, generations};
use crate::cli::options::Options;
use crate::json;
use crate::metrics::{NO_ERRORS, OTHER};
use crate::os::files::{self, Links};
use crate::os::stamp::Identity;
use crate::report::Failure;

/// Users that are told apart.
const MAX_USERS: usize = 1000;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Seconds of the shortest and the longest time that is told apart, and from one to the next.
const SHORTEST: f64 = 0.000_05;
const LONGEST: f64 = 100.0;
const FACTOR: f64 = 1.25;

/// The end of a log that is being written.
pub(super) struct Followed {
    path: PathBuf,
    files: u32,
    open: Option<Open>,
    lines: Lines,
}

struct Open {
    file: File,
    identity: Identity,
}

/// What lines say, added up.
struct Lines {
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
    /// It is longer than any record.
    is_overlong: bool,
    users: BTreeMap<Key, Counts>,
}

impl Followed {
    /// Begins at the end of the log of the configuration.
    ///
    /// # Errors
    /// If it is off, or cannot be read.
    pub(super) fn open(options: &Options) -> Result<Self, Failure> {
        let config = options.config()?;
        if config.audit.enabled == Some(false) {
            return Err(Failure::usage("follow the audit log, which alone has users: it is off")
                .hint("remove enabled = false under [audit], and start the server again".to_owned()));
        }
        let settings = config.audit().ok_or_else(|| {
            Failure::usage("find the audit log, which alone has users: no home folder")
                .hint("write path = \"/PATH/audit.jsonl\" under [audit], and start the server again".to_owned())
        })?;
        let mut followed = Self::at(settings.path, settings.files);
        if !followed.path.exists() {
            let failure =
                Failure::usage(format!("find the audit log, which alone has users: no such file: {}", followed.name()));
            let hint = "a server makes it when it starts; if it runs as another user, or with another configuration, be \
                        that user, or name that with --config";
            return Err(failure.hint(hint.to_owned()));
        }
        let mut open = Open::at(&followed.path).map_err(|error| followed.failure(&error))?;
        open.file.seek(SeekFrom::End(0)).map_err(|error| followed.failure(&error))?;
        followed.open = Some(open);
        Ok(followed)
    }

    fn at(path: PathBuf, files: u32) -> Self {
        Self { path, files, open: None, lines: Lines::new() }
    }

    pub(super) fn name(&self) -> String {
        self.path.shown().to_string()
    }

    pub(super) fn read(&mut self) -> Result<Reading, Failure> {
        self.follow().map_err(|error| self.failure(&error))?;
        Ok(Reading { at: Instant::now(), counts: self.lines.users.clone(), server: None })
    }

    fn failure(&self, error: &dyn std::fmt::Display) -> Failure {
        Failure::new(format!("read the audit log: {error}: {}", self.name()))
    }

    /// Reads what was written since, also into files that came after a rotation.
    fn follow(&mut self) -> Result<(), files::FileError> {
        // Before it is read: what is not the log any more is not written any more.
        let now = Identity::of(&self.path, Links::Followed);
        if let Some(open) = &mut self.open {
            open.read(&mut self.lines)?;
            if now.is_none_or(|now| now == open.identity) {
                return Ok(());
            }
        }
        let files = generations(&self.path, self.files);
        let is_open = |path: &PathBuf| {
            let own = self.open.as_ref().map(|open| open.identity);
            own.is_some() && Identity::of(path, Links::Followed) == own
        };
        let from = files.iter().position(is_open).map_or(files.len().saturating_sub(1), |at| at + 1);
        for path in &files[from..] {
            let mut open = Open::at(path)?;
            open.read(&mut self.lines)?;
            self.open = Some(open);
        }
        Ok(())
    }
}

impl Open {
    fn at(path: &Path) -> Result<Self, files::FileError> {
        let (file, _) = files::open(path, Links::Followed)?;
        let identity = Identity::of_open(&file)?;
        Ok(Self { file, identity })
    }

    /// Reads as much as there is now: others go on writing.
    fn read(&mut self, lines: &mut Lines) -> Result<(), files::FileError> {
        let length = self.file.metadata()?.len();
        let mut left = length.saturating_sub(self.file.stream_position()?);
        let mut chunk = vec![0; CHUNK];
        while left > 0 {
            let most = chunk.len().min(usize::try_from(left).unwrap_or(CHUNK));
            let bytes = self.file.read(&mut chunk[..most])?;
            if bytes == 0 {
                break;
            }
            lines.feed(&chunk[..bytes]);
            left -= bytes as u64;
        }
        Ok(())
    }
}

impl Lines {
    fn new() -> Self {
        Self { begun: Vec::new(), is_overlong: false, users: BTreeMap::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.is_overlong |= self.begun.len() + piece.len() > MAX_LINE;
            if !self.is_overlong {
                self.begun.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                if !self.is_overlong {
                    self.count();
                }
                self.begun.clear();
                self.is_overlong = false;
            }
        }
    }

    /// Counts the line if it is the record of a call.
    fn count(&mut self) {
        let tree = std::str::from_utf8(&self.begun).ok().and_then(|text| json::tree(text, json::MAX_DEPTH).ok());
        let Some(Value::Object(record)) = tree else { return };
        let text = |member: &str| record.get(member).and_then(Value::as_str).unwrap_or_default();
        let number = |member: &str| record.get(member).and_then(Value::as_u64).unwrap_or_default() as f64;
        let event = text("event");
        if !["call", "deny", "fault"].contains(&event) {
            return;
        }
        let name = |name: &str| (name.to_owned(), String::new());
        let mut key = name(text("principal"));
        if self.users.len() >= MAX_USERS && !self.users.contains_key(&key) {
            key = name(OTHER);
        }
        let counts = self.users.entry(key).or_insert_with(|| Counts::with(durations()));
        counts.add(Total::Calls, 1.0);
        counts.add(Total::Faults, if event == "fault" { 1.0 } else { 0.0 });
        counts.add(Total::Errors, if NO_ERRORS.contains(&text("code")) { 0.0 } else { 1.0 });
        for (member, total, unit) in [
            ("cpu_us", Total::Cpu, 1e-6),
            ("upstream_us", Total::Upstream, 1e-6),
            ("queue_us", Total::Queued, 1e-6),
            ("in_bytes", Total::Received, 1.0),
            ("out_bytes", Total::Sent, 1.0),
        ] {
            counts.add(total, number(member) * unit);
        }
        if record.contains_key("memory_bytes") {
            counts.used_memory(number("memory_bytes"));
        }
        if text("code") == "ok" {
            counts.durations.observe(number("dur_us") * 1e-6);
        }
    }
}

fn durations() -> Buckets {
    let bounds = std::iter::successors(Some(SHORTEST), |bound| Some(bound * FACTOR));
    Buckets::with(bounds.take_while(|bound| *bound < LONGEST).chain([LONGEST, f64::INFINITY]))
}

#[cfg(test)]
mod tests;

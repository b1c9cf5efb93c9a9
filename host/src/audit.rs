//! The audit log: what was loaded, and every call that clients make, as lines that hang
//! together by their hashes.
//!
//! Recording costs a caller a line and a place in a bounded queue, and leaves no memory for
//! another thread to free, which would have both wait for the allocator. Nobody waits for the
//! disk, unless nothing is to be served without a record. Knows neither plugins nor MCP: whoever
//! records says what in plain values.

mod chain;
mod file;
mod line;
mod queue;
mod writer;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use chain::{Break, Verified, verify};
pub use file::{OpenError, generations};
use queue::Queue;
pub use queue::{Commit, Recording, Unrecorded};
pub use writer::Writer;

/// Bytes of a name, an address or a reason that are kept.
const TEXT: usize = 512;
/// Bytes of a body that are kept, where bodies are.
const BODY: usize = 16 << 10;

/// Where the log is, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub path: PathBuf,
    /// Keep arguments and results themselves, not only their sizes and hashes.
    pub bodies: bool,
    /// Bytes at which a file is put aside.
    pub size: u64,
    /// Files that are kept, the one that is written included; at least two.
    pub files: u32,
    /// Nothing is served that is not recorded.
    pub required: bool,
}

/// Where records go. Cheap to clone; the default one goes nowhere.
#[derive(Clone, Default)]
pub struct Audit(Option<Log>);

#[derive(Clone)]
struct Log {
    queue: Arc<Queue>,
    bodies: bool,
}

impl Audit {
    /// Opens the log and starts the thread that writes it. A file that other users can write is
    /// refused.
    ///
    /// # Errors
    /// If it cannot be opened, or is not to be trusted; if it is required, also if nothing could
    /// be written to it.
    pub fn open(settings: Settings) -> Result<(Self, Writer), OpenError> {
        let mut file = file::LogFile::open(&settings)?;
        if settings.required {
            file.append(|_, _, _| {})?;
            file.reserve()?;
        }
        let queue = Arc::new(Queue::new(settings.required));
        let writer = Writer::start(file, queue.clone())?;
        Ok((Self(Some(Log { queue, bodies: settings.bodies })), writer))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Puts a record into the queue, or counts that there was no room for it.
    pub fn record(&self, record: &Record) {
        if let Some(log) = &self.0 {
            log.queue.put(&line::render(record));
        }
    }

    /// The same, for whoever must not go on before the record is in the file, where that is
    /// required.
    pub fn commit(&self, record: &Record) -> Commit {
        Commit(self.0.as_ref().map(|log| (log.queue.clone(), log.queue.put(&line::render(record)))))
    }

    /// Whether something may be begun that is recorded at its end. Where records are required, it
    /// may not while none can be written.
    ///
    /// # Errors
    /// If it may not; the log will say how often that was.
    pub fn admit(&self) -> Result<(), Unrecorded> {
        if self.0.as_ref().is_none_or(|log| log.queue.admits()) { Ok(()) } else { Err(Unrecorded) }
    }

    /// Waits while records are required and none can be written.
    pub fn recording(&self) -> Recording {
        Recording(self.0.as_ref().map(|log| log.queue.clone()))
    }

    /// What is kept of a body.
    pub fn body(&self, text: &str) -> Body {
        let keeps = self.0.as_ref().is_some_and(|log| log.bodies);
        Body {
            bytes: text.len() as u64,
            hash: blake3::hash(text.as_bytes()),
            text: keeps.then(|| text[..text.floor_char_boundary(BODY)].to_owned()),
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Audit").field(&self.is_on()).finish()
    }
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A plugin is in service that was not before.
    Load,
    /// Other content of a plugin is in service.
    Swap,
    /// A file is not taken into service.
    Reject,
    Remove,
    /// A plugin serves on under other limits or grants.
    Reconfigure,
    /// A version waits for its approval.
    Hold,
    Approve,
    Revoke,
    /// A call that ended as its plugin wanted, or that was refused or given up.
    Call,
    /// A call that the plugin failed, as the host saw it.
    Fault,
    /// A call that failed for want of a grant.
    Deny,
    /// A plugin is not called for a while.
    Quarantine,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Swap => "swap",
            Self::Reject => "reject",
            Self::Remove => "remove",
            Self::Reconfigure => "reconfigure",
            Self::Hold => "hold",
            Self::Approve => "approve",
            Self::Revoke => "revoke",
            Self::Call => "call",
            Self::Fault => "fault",
            Self::Deny => "deny",
            Self::Quarantine => "quarantine",
        }
    }
}

/// One thing that happened. What does not belong to it is left out of its line.
#[derive(Debug)]
pub struct Record {
    pub at: SystemTime,
    pub event: Event,
    pub plugin: Option<String>,
    /// BLAKE3 of the component.
    pub content: Option<[u8; 32]>,
    pub principal: Option<Arc<str>>,
    /// Of MCP.
    pub method: Option<Cow<'static, str>>,
    /// The public name of a tool or prompt, or a URI.
    pub tool: Option<String>,
    /// The request's, as JSON.
    pub id: Option<String>,
    pub took: Option<Duration>,
    pub input: Option<Body>,
    pub output: Option<Body>,
    /// How it ended, for programs.
    pub code: Option<&'static str>,
    /// The grant that was missing.
    pub access: Option<&'static str>,
    /// Why, for people.
    pub reason: Option<String>,
}

impl Record {
    pub fn new(event: Event) -> Self {
        Self {
            at: SystemTime::now(),
            event,
            plugin: None,
            content: None,
            principal: None,
            method: None,
            tool: None,
            id: None,
            took: None,
            input: None,
            output: None,
            code: None,
            access: None,
            reason: None,
        }
    }

    /// As much of a text from outside as a record keeps.
    pub fn capped(text: &str) -> String {
        text[..text.floor_char_boundary(TEXT)].to_owned()
    }
}

/// What is kept of arguments or a result.
#[derive(Debug)]
pub struct Body {
    pub bytes: u64,
    pub hash: blake3::Hash,
    pub text: Option<String>,
}

#[cfg(test)]
mod tests;

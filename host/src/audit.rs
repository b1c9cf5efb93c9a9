//! The audit log: loaded plugins and every call of a client, as lines in a hash chain.
//!
//! A caller renders a line and copies it into a bounded queue. It hands no memory to another thread to
//! free, which would make both contend for the allocator. Callers do not wait for the disk unless the
//! log is required. Knows neither plugins nor MCP: records hold plain values.

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

use crate::metrics::Spent;
pub use chain::{ChainBreak, Verified, verify};
pub use file::{OpenError, generations, places};
pub use line::MAX_LINE;
use queue::Queue;
pub use queue::{Commit, Recording, Unrecorded};
pub use writer::AuditWriter;

/// Maximum bytes of a name, an address or a reason; longer ones are truncated.
const MAX_TEXT: usize = 512;
/// Maximum bytes of a recorded body; longer ones are truncated.
const MAX_BODY: usize = 16 << 10;

/// How long another process may hold the lock when a required log is opened. Appending some lines takes it
/// milliseconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditSettings {
    pub path: PathBuf,
    /// Record arguments and results themselves, not only their sizes and hashes.
    pub bodies: bool,
    /// Bytes at which the file is rotated.
    pub size: u64,
    /// Files that are kept, including the current one; at least two.
    pub files: u32,
    /// Nothing is served without a record.
    pub required: bool,
}

/// Who is told of records as they are made, on the threads that make them: it must not wait.
pub trait Observer: Send + Sync {
    fn observe(&self, record: &Record);
}

/// A handle to the audit log. Cheap to clone; the default one discards records.
#[derive(Clone, Default)]
pub struct Audit {
    log: Option<Log>,
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Clone)]
struct Log {
    queue: Arc<Queue>,
    bodies: bool,
}

impl Audit {
    /// Opens the log and starts the thread that writes it.
    ///
    /// # Errors
    /// If the file cannot be opened, or other users can write it; if the log is required, also if it
    /// cannot be written.
    pub fn open(settings: AuditSettings) -> Result<(Self, AuditWriter), OpenError> {
        let mut file = file::LogFile::open(&settings)?;
        if settings.required {
            file.append(OPEN_TIMEOUT, |link, bytes, found| {
                line::append_found(found, u64::from(found.incomplete), 0, link, bytes);
            })?;
            file.reserve()?;
        }
        let queue = Arc::new(Queue::new(settings.required));
        let writer = AuditWriter::start(file, queue.clone())?;
        Ok((Self { log: Some(Log { queue, bodies: settings.bodies }), observer: None }, writer))
    }

    /// The same log, with somebody who is told of records also if the log is off.
    pub fn observed(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Whether anybody wants records.
    pub fn is_on(&self) -> bool {
        self.log.is_some() || self.observer.is_some()
    }

    /// Queues a record. If the queue is full, the record is dropped and counted.
    pub fn record(&self, record: &Record) {
        self.tell(record);
        if let Some(log) = &self.log {
            log.queue.put(&line::render(record));
        }
    }

    /// Queues a record; the returned future is ready when it is in the file, or at once if the log is not
    /// required.
    pub fn commit(&self, record: &Record) -> Commit {
        self.tell(record);
        Commit(self.log.as_ref().map(|log| (log.queue.clone(), log.queue.put(&line::render(record)))))
    }

    /// Checks whether a call that will be recorded at its end may start.
    ///
    /// # Errors
    /// If the log is required and cannot be written. The next record written counts these refusals.
    pub fn admit(&self) -> Result<(), Unrecorded> {
        if self.log.as_ref().is_none_or(|log| log.queue.admits()) { Ok(()) } else { Err(Unrecorded) }
    }

    /// Waits while the log is required and cannot be written.
    pub fn recording(&self) -> Recording {
        Recording(self.log.as_ref().map(|log| log.queue.clone()))
    }

    fn tell(&self, record: &Record) {
        if let Some(observer) = &self.observer {
            observer.observe(record);
        }
    }

    /// What is recorded of a body.
    pub fn body(&self, text: &str) -> Body {
        let with_text = self.log.as_ref().is_some_and(|log| log.bodies);
        Body {
            bytes: text.len() as u64,
            hash: blake3::hash(text.as_bytes()),
            text: with_text.then(|| text[..text.floor_char_boundary(MAX_BODY)].to_owned()),
        }
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Audit").field(&self.is_on()).finish()
    }
}

/// The event that a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A plugin was put into service.
    Load,
    /// A plugin was replaced with another version.
    Swap,
    /// A file was refused.
    Reject,
    Remove,
    /// A plugin keeps serving under changed limits or grants.
    Reconfigure,
    /// A version is pending approval.
    Hold,
    Approve,
    Revoke,
    /// A call that the plugin completed, or that was refused or cancelled.
    Call,
    /// A call that failed because of the plugin.
    Fault,
    /// A call that failed because of a missing grant.
    Deny,
    /// Calls of a plugin are suspended because it failed too often.
    Quarantine,
    /// A request was not let in.
    Refuse,
    /// A person decided whether a call may run.
    Decide,
    /// Something happened to a task, besides the end of its call.
    Task,
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
            Self::Task => "task",
            Self::Call => "call",
            Self::Fault => "fault",
            Self::Deny => "deny",
            Self::Quarantine => "quarantine",
            Self::Refuse => "refuse",
            Self::Decide => "decide",
        }
    }
}

/// One event. Fields that are `None` are left out of its line.
#[derive(Debug)]
pub struct Record {
    pub at: SystemTime,
    pub event: Event,
    pub plugin: Option<String>,
    /// BLAKE3 of the component.
    pub content: Option<[u8; 32]>,
    pub principal: Option<Arc<str>>,
    /// Of the access token.
    pub issuer: Option<Arc<str>>,
    pub subject: Option<Arc<str>>,
    pub client: Option<Arc<str>>,
    /// With spaces between them.
    pub scopes: Option<String>,
    /// The rule that allowed or denied it.
    pub rule: Option<String>,
    /// The extra grants and limits that its sender has, with commas between their names.
    pub extra: Option<String>,
    /// Who decided on it: `user` or `operator`.
    pub by: Option<&'static str>,
    /// Through what it was done, if neither by a client nor by a command: `page`.
    pub via: Option<&'static str>,
    /// The network address of a sender that is not known otherwise.
    pub peer: Option<String>,
    /// The MCP method.
    pub method: Option<Cow<'static, str>>,
    /// The public name of a tool or prompt, or a URI.
    pub tool: Option<String>,
    /// The request id, as JSON.
    pub id: Option<String>,
    /// The task that the call has become.
    pub task: Option<String>,
    /// The id of the trace that the request belongs to.
    pub trace: Option<String>,
    pub took: Option<Duration>,
    /// What it cost besides.
    pub spent: Option<Spent>,
    pub input: Option<Body>,
    pub output: Option<Body>,
    /// The machine-readable outcome.
    pub code: Option<&'static str>,
    /// The grant that was missing.
    pub access: Option<&'static str>,
    /// The human-readable reason.
    pub reason: Option<String>,
    /// Events of this kind that have no record, since the one before.
    pub omitted: Option<u64>,
}

impl Record {
    pub fn new(event: Event) -> Self {
        Self {
            at: SystemTime::now(),
            event,
            plugin: None,
            content: None,
            principal: None,
            issuer: None,
            subject: None,
            client: None,
            scopes: None,
            rule: None,
            extra: None,
            by: None,
            via: None,
            peer: None,
            method: None,
            tool: None,
            id: None,
            task: None,
            trace: None,
            took: None,
            spent: None,
            input: None,
            output: None,
            code: None,
            access: None,
            reason: None,
            omitted: None,
        }
    }

    /// Of what a person decided on the call of this record.
    pub fn decision(&self, code: &'static str) -> Self {
        Self {
            plugin: self.plugin.clone(),
            content: self.content,
            principal: self.principal.clone(),
            issuer: self.issuer.clone(),
            subject: self.subject.clone(),
            client: self.client.clone(),
            rule: self.rule.clone(),
            by: self.by,
            via: self.via,
            tool: self.tool.clone(),
            id: self.id.clone(),
            trace: self.trace.clone(),
            // The text is in the record of the call.
            input: self.input.as_ref().map(|input| Body { text: None, ..*input }),
            code: Some(code),
            ..Self::new(Event::Decide)
        }
    }

    /// As [`Self::capped`], of a name that is rarely too long. One that is cut ends in a part of its hash, so that
    /// different ones stay different.
    pub fn capped_name(name: &Arc<str>) -> Arc<str> {
        if name.len() <= MAX_TEXT {
            return name.clone();
        }
        let hash = &blake3::hash(name.as_bytes()).to_hex()[..16];
        let kept = &name[..name.floor_char_boundary(MAX_TEXT - "\u{2026}".len() - hash.len())];
        format!("{kept}\u{2026}{hash}").into()
    }

    /// Names with spaces between them, as many as a record holds. The last one is `…` if there are more.
    pub fn capped_names(names: &[Box<str>]) -> Option<String> {
        const MORE: &str = "\u{2026}";
        let mut list = String::new();
        for name in names {
            let gap = if list.is_empty() { "" } else { " " };
            if list.len() + gap.len() + name.len() + " ".len() + MORE.len() > MAX_TEXT {
                list += gap;
                list += MORE;
                break;
            }
            list += gap;
            list += name;
        }
        (!list.is_empty()).then_some(list)
    }

    /// Truncates an untrusted text to what a record holds.
    pub fn capped(text: &str) -> String {
        text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
    }
}

/// What is recorded of arguments or a result.
#[derive(Debug)]
pub struct Body {
    pub bytes: u64,
    pub hash: blake3::Hash,
    pub text: Option<String>,
}

#[cfg(test)]
mod tests;

//! Which era a message belongs to: the handshake's, or that of `_meta` on each request.
//! A pure function of the message and the connection's state, decided per message.
//!
//! Source: 2026-07-28 basic/versioning, "Dual-era servers".

use std::sync::Arc;

use super::error::{self, ErrorObject};
use super::meta::{self, LastMeta, Meta};
use super::params::Params;
use super::revision::Revision;
use crate::jsonrpc::{Frame, Invalid, Message, Notification};

/// What to do with a request.
#[derive(Debug)]
pub enum Verdict {
    /// Stateless, with its own `_meta`.
    Modern(Revision, Arc<Meta>),
    /// A handshake; it sets or replaces the legacy state.
    Initialize,
    /// In the session that the handshake opened.
    Legacy(Revision),
    /// A ping before any handshake, to be answered with `{}`.
    Ping,
    Error(ErrorObject),
}

/// Classifies a request on a line-delimited stream. `legacy` is the revision that a handshake on
/// this connection negotiated.
pub fn request(method: &str, params: &Params<'_>, last: &mut LastMeta, legacy: Option<Revision>) -> Verdict {
    match last.read(params) {
        Ok(Some(meta)) => modern(meta.revision(), meta),
        Ok(None) => handshake(method, legacy),
        Err(error) => Verdict::Error(error),
    }
}

/// Classifies a request of a POST that is [`PostKind::Stateless`]. `header` is `MCP-Protocol-Version`,
/// trimmed. A modern error has status 400.
pub fn stateless(method: &str, params: &Params<'_>, last: &mut LastMeta, header: Option<&str>) -> Verdict {
    match last.read(params) {
        // The header is compared before the version is checked: a client that names two
        // different unknown versions has a header mismatch.
        Ok(Some(meta)) => match header {
            Some(header) if header == meta.version => modern(meta.revision(), meta),
            Some(_) => Verdict::Error(mismatch("differs from the version in params._meta")),
            None => Verdict::Error(mismatch("is missing")),
        },
        Ok(None) => Verdict::Error(error::missing_meta(method)),
        Err(error) => Verdict::Error(error),
    }
}

/// The kind of a POST, which decides its handler.
#[derive(Debug)]
pub enum PostKind {
    /// No session: the request states its revision, or has to.
    Stateless,
    /// It opens a session.
    Handshake,
    /// It belongs to a session.
    InSession,
    /// Invalid: status 400.
    Refused(Invalid),
}

/// The one decision on the era of a POST, before anything of it is executed. `header` is
/// `MCP-Protocol-Version`, trimmed.
pub fn post_kind(frame: &Frame<'_>, header: Option<&str>) -> PostKind {
    let known = header.map(Revision::parse);
    let modern_header = known.flatten().is_some_and(Revision::is_modern);
    let unknown_header = known == Some(None);
    let refuse = |id, error| PostKind::Refused(Invalid { id, error });
    let unsupported = |id| refuse(id, error::unsupported_version(header.unwrap_or_default()));
    match frame {
        Frame::Batch(messages) if modern_header || messages.iter().any(is_modern) => refuse(None, no_modern_batches()),
        Frame::Batch(_) if unknown_header => unsupported(None),
        Frame::Batch(_) => PostKind::InSession,
        Frame::Single(Message::Invalid(found)) => PostKind::Refused(found.clone()),
        Frame::Single(Message::Request(_)) if modern_header => PostKind::Stateless,
        Frame::Single(Message::Request(request)) => match meta::is_modern(request.params) {
            // Errors in `_meta` are reported in the response.
            Ok(true) | Err(_) => PostKind::Stateless,
            Ok(false) if unknown_header => unsupported(Some(request.id.clone())),
            Ok(false) if request.method == "initialize" => PostKind::Handshake,
            // Not a session method, so its `_meta` is missing.
            Ok(false) if request.method == "server/discover" && header.is_none() => PostKind::Stateless,
            Ok(false) => PostKind::InSession,
        },
        Frame::Single(message @ Message::Notification(_)) if modern_header || is_modern(message) => PostKind::Stateless,
        Frame::Single(Message::Response(_)) if modern_header => {
            let detail = "this revision has no requests that a client could answer";
            refuse(None, ErrorObject::invalid_request("response_not_allowed", detail))
        }
        Frame::Single(_) if unknown_header => unsupported(None),
        Frame::Single(_) => PostKind::InSession,
    }
}

/// Whether a message states its own revision.
fn is_modern(message: &Message<'_>) -> bool {
    match message {
        Message::Request(request) => meta::is_modern(request.params) == Ok(true),
        Message::Notification(notification) => meta::is_modern(notification.params) == Ok(true),
        Message::Response(_) | Message::Invalid(_) => false,
    }
}

fn no_modern_batches() -> ErrorObject {
    let detail = format!("revision {} has no batches, send one message at a time", Revision::MODERN[0]);
    error::batch_not_allowed(&detail)
}

fn mismatch(detail: &str) -> ErrorObject {
    error::header_mismatch("MCP-Protocol-Version", detail)
}

fn modern(revision: Result<Revision, ErrorObject>, meta: Arc<Meta>) -> Verdict {
    match revision {
        Ok(revision) => Verdict::Modern(revision, meta),
        Err(error) => Verdict::Error(error),
    }
}

/// Classifies a request that does not state its own revision.
pub fn handshake(method: &str, legacy: Option<Revision>) -> Verdict {
    match (method, legacy) {
        ("initialize", _) => Verdict::Initialize,
        (_, Some(revision)) => Verdict::Legacy(revision),
        ("ping", None) => Verdict::Ping,
        (_, None) => Verdict::Error(error::missing_meta(method)),
    }
}

/// The revision to parse a notification with; `None`: it is ignored. Cancellation is independent of
/// the era: it names a request of this connection.
pub fn notification(message: &Notification<'_>, legacy: Option<Revision>) -> Option<Revision> {
    if meta::is_modern(message.params) == Ok(true) {
        return Some(Revision::MODERN[0]);
    }
    match message.method.as_ref() {
        "notifications/cancelled" => Some(legacy.unwrap_or(Revision::MODERN[0])),
        _ => legacy,
    }
}

/// Classifies a batch: `Err` is the response to all of it, and nothing is executed; otherwise each
/// element has its own error or is to be handled.
pub fn batch(messages: &[Message<'_>], legacy: Option<Revision>) -> Result<Vec<Option<ErrorObject>>, ErrorObject> {
    let Some(revision) = legacy else {
        return Err(error::batch_not_allowed("a batch needs a handshake before it"));
    };
    if !revision.allows_batch() {
        let detail = format!("revision {revision} has no batches, send one message at a time");
        return Err(error::batch_not_allowed(&detail));
    }
    if messages.iter().any(is_modern) {
        return Err(no_modern_batches());
    }
    let verdicts = messages.iter().map(|message| match message {
        Message::Request(request) if request.method == "initialize" => {
            Some(error::batch_not_allowed("initialize must be sent alone"))
        }
        Message::Invalid(invalid) => Some(invalid.error.clone()),
        _ => None,
    });
    Ok(verdicts.collect())
}

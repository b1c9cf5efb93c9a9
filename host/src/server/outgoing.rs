//! One message on its way to a client, and what a transport may have to know of it beside
//! its text.

use bytes::Bytes;

use super::handlers::Answer;
use super::unread::{Unread, Waits};
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, RequestId};

#[derive(Debug)]
pub struct Outgoing {
    /// JSON on one line.
    pub text: String,
    pub kind: Kind,
    /// Where its bytes are counted until the client has taken them.
    held: Option<Waits>,
}

/// A copy is counted nowhere: that is for whoever keeps it.
impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Self::new(self.text.clone(), self.kind)
    }
}

impl AsRef<[u8]> for Outgoing {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Its text, which is counted until the last of it is dropped.
impl From<Outgoing> for Bytes {
    fn from(message: Outgoing) -> Self {
        if message.held.is_some() { Self::from_owner(message) } else { message.text.into() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A notification, or a request of the server's.
    Said,
    /// A result, or the answers to a batch: the last message of its frame.
    Result,
    /// The error that is the answer, and the last message of its frame.
    Error {
        code: i64,
        /// It is about what surrounds the request: its revision, `_meta`, or headers.
        of_envelope: bool,
    },
}

impl Outgoing {
    pub fn new(text: String, kind: Kind) -> Self {
        Self { text, kind, held: None }
    }

    /// Counts it from now on, also beyond the limits. What is counted already stays as it is.
    pub fn hold(&mut self, unread: &Unread) {
        if self.held.is_none() {
            self.held = Some(unread.take(self.text.len()));
        }
    }

    /// Counts it, if there is room.
    pub(in crate::server) fn try_hold(&mut self, unread: &Unread) -> bool {
        if self.held.is_none() {
            self.held = unread.try_take(self.text.len());
        }
        self.held.is_some()
    }

    /// No longer counts it: whoever keeps it counts what he keeps.
    pub fn release(&mut self) {
        self.held = None;
    }

    pub(in crate::server) fn notification(method: &str, params: Option<&str>) -> Self {
        Self::new(encode::notification(method, params), Kind::Said)
    }

    pub(in crate::server) fn request(id: &RequestId, method: &str, params: Option<&str>) -> Self {
        Self::new(encode::request(id, method, params), Kind::Said)
    }

    pub(in crate::server) fn answer(id: &RequestId, answer: Answer) -> Self {
        match answer {
            Ok(result) => Self::new(encode::result(id, result), Kind::Result),
            Err(error) => Self::error(Some(id), UnreadableId::Omit, &error, false),
        }
    }

    pub(in crate::server) fn error(
        id: Option<&RequestId>,
        unreadable: UnreadableId,
        error: &ErrorObject,
        of_envelope: bool,
    ) -> Self {
        Self::new(encode::error(id, unreadable, error), Kind::Error { code: error.code, of_envelope })
    }

    /// The answers to one batch.
    pub(in crate::server) fn batch(answers: Vec<Self>) -> Self {
        let texts: Vec<String> = answers.into_iter().map(|answer| answer.text).collect();
        Self::new(encode::batch(&texts), Kind::Result)
    }
}

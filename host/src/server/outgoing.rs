//! A message to a client, with the data that a transport needs besides its text.

use bytes::Bytes;

use super::bounds::unread::{Unread, UnreadBytes};
use super::response::Response;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, RequestId};
use crate::protocol::error::{INSUFFICIENT_SCOPE, INTERNAL_ERROR};

#[derive(Debug)]
pub struct Outgoing {
    /// JSON on one line.
    pub text: String,
    pub kind: MessageKind,
    /// Of an error, what the client can do about it.
    pub remedy: Option<Remedy>,
    /// Counts its bytes until the client has read them.
    held: Option<UnreadBytes>,
}

/// A copy is not counted here: its owner does that.
impl Clone for Outgoing {
    fn clone(&self) -> Self {
        Self { remedy: self.remedy.clone(), ..Self::new(self.text.clone(), self.kind) }
    }
}

impl AsRef<[u8]> for Outgoing {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// The text, which stays counted until the last reference is dropped.
impl From<Outgoing> for Bytes {
    fn from(message: Outgoing) -> Self {
        if message.held.is_some() { Self::from_owner(message) } else { message.text.into() }
    }
}

/// What a client can do about an error, where a transport has a form of its own for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Get an access token with these scopes, with spaces between them.
    Scope(Box<str>),
    /// Send the request again after so many seconds.
    RetryAfter(u64),
}

impl Remedy {
    fn of(error: &ErrorObject) -> Option<Self> {
        let data = error.data.as_ref()?;
        match error.code {
            INSUFFICIENT_SCOPE => data["scope"].as_str().map(|scope| Self::Scope(scope.into())),
            INTERNAL_ERROR => data["retryAfter"].as_u64().map(Self::RetryAfter),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A notification, or a request of the server.
    ServerInitiated,
    /// A result, or the responses to a batch: the last message of its frame.
    Result,
    /// An error response: the last message of its frame.
    Error {
        code: i64,
        /// It concerns the envelope: revision, `_meta` or headers.
        of_envelope: bool,
    },
}

impl Outgoing {
    pub fn new(text: String, kind: MessageKind) -> Self {
        Self { text, kind, remedy: None, held: None }
    }

    /// Counts it from now on, even beyond the limits; no effect if it is counted already.
    pub fn hold(&mut self, unread: &Unread) {
        if self.held.is_none() {
            self.held = Some(unread.take(self.text.len()));
        }
    }

    /// Counts it, if the limits allow it.
    pub(in crate::server) fn try_hold(&mut self, unread: &Unread) -> bool {
        if self.held.is_none() {
            self.held = unread.try_take(self.text.len());
        }
        self.held.is_some()
    }

    /// No longer counts it: its new owner does.
    pub fn release(&mut self) {
        self.held = None;
    }

    pub(in crate::server) fn notification(method: &str, params: Option<&str>) -> Self {
        Self::new(encode::notification(method, params), MessageKind::ServerInitiated)
    }

    pub(in crate::server) fn request(id: &RequestId, method: &str, params: Option<&str>) -> Self {
        Self::new(encode::request(id, method, params), MessageKind::ServerInitiated)
    }

    pub(in crate::server) fn answer(id: &RequestId, answer: Response) -> Self {
        match answer {
            Ok(result) => Self::new(encode::result(id, result), MessageKind::Result),
            Err(error) => Self::error(Some(id), UnreadableId::Omit, &error, false),
        }
    }

    pub(in crate::server) fn error(
        id: Option<&RequestId>,
        unreadable: UnreadableId,
        error: &ErrorObject,
        of_envelope: bool,
    ) -> Self {
        let kind = MessageKind::Error { code: error.code, of_envelope };
        Self { remedy: Remedy::of(error), ..Self::new(encode::error(id, unreadable, error), kind) }
    }

    /// The responses to one batch.
    pub(in crate::server) fn batch(answers: Vec<Self>) -> Self {
        let texts: Vec<String> = answers.into_iter().map(|answer| answer.text).collect();
        Self::new(encode::batch(&texts), MessageKind::Result)
    }
}

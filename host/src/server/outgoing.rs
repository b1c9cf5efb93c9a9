//! One message on its way to a client, and what a transport may have to know of it beside
//! its text.

use super::handlers::Answer;
use crate::jsonrpc::encode::{self, UnreadableId};
use crate::jsonrpc::{ErrorObject, RequestId};

#[derive(Clone, Debug)]
pub struct Outgoing {
    /// JSON on one line.
    pub text: String,
    pub kind: Kind,
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
    pub(in crate::server) fn notification(method: &str, params: Option<&str>) -> Self {
        Self { text: encode::notification(method, params), kind: Kind::Said }
    }

    pub(in crate::server) fn request(id: &RequestId, method: &str, params: Option<&str>) -> Self {
        Self { text: encode::request(id, method, params), kind: Kind::Said }
    }

    pub(in crate::server) fn answer(id: &RequestId, answer: Answer) -> Self {
        match answer {
            Ok(result) => Self { text: encode::result(id, &result), kind: Kind::Result },
            Err(error) => Self::error(Some(id), UnreadableId::Omit, &error, false),
        }
    }

    pub(in crate::server) fn error(
        id: Option<&RequestId>,
        unreadable: UnreadableId,
        error: &ErrorObject,
        of_envelope: bool,
    ) -> Self {
        Self { text: encode::error(id, unreadable, error), kind: Kind::Error { code: error.code, of_envelope } }
    }

    /// The answers to one batch.
    pub(in crate::server) fn batch(answers: Vec<Self>) -> Self {
        let texts: Vec<String> = answers.into_iter().map(|answer| answer.text).collect();
        Self { text: encode::batch(&texts), kind: Kind::Result }
    }
}

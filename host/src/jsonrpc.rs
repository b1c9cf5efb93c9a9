//! JSON-RPC 2.0: one frame of bytes to messages, and messages to text.
//! It knows no method, no session and no transport.
//!
//! Source: <https://www.jsonrpc.org/specification>, as restricted by MCP: an id is a
//! string or an integer and never null.

mod decode;
pub mod encode;
mod error;
mod id;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub use decode::{BATCH_LIMIT, decode};
pub use error::{ErrorObject, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR};
pub use id::{InvalidId, RequestId};

/// What one frame holds.
#[derive(Debug)]
pub enum Frame<'a> {
    Single(Message<'a>),
    /// One to [`BATCH_LIMIT`] elements, each valid or not.
    Batch(Vec<Message<'a>>),
}

impl Frame<'_> {
    /// The id of the one request in it.
    pub fn request_id(&self) -> Option<&RequestId> {
        match self {
            Frame::Single(Message::Request(request)) => Some(&request.id),
            _ => None,
        }
    }
}

/// One element of a frame.
#[derive(Debug)]
pub enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    Response(Response<'a>),
    /// Not a message; its error is the response.
    Invalid(Invalid),
}

/// A call that must get exactly one response.
#[derive(Debug)]
pub struct Request<'a> {
    pub id: RequestId,
    pub method: Cow<'a, str>,
    /// An object or an array. `null` counts as absent.
    pub params: Option<&'a RawValue>,
}

/// A call that never gets a response, not even an error.
#[derive(Debug)]
pub struct Notification<'a> {
    pub method: Cow<'a, str>,
    /// Any JSON but `null`: since nothing can be answered, nothing is refused here.
    pub params: Option<&'a RawValue>,
}

/// A response to a server request; never answered itself.
#[derive(Debug)]
pub struct Response<'a> {
    /// `None` if the id is absent, null or invalid: such a response matches no request.
    pub id: Option<RequestId>,
    pub outcome: Outcome<'a>,
}

/// The outcome in a response.
#[derive(Debug)]
pub enum Outcome<'a> {
    Result(&'a RawValue),
    Error(ErrorObject),
    /// Both a result and an error, or an error without code and message, or not
    /// `"jsonrpc": "2.0"`: the request has failed, with this reason.
    Malformed(&'static str),
}

/// An error to send back, with the id when it could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalid {
    pub id: Option<RequestId>,
    pub error: ErrorObject,
}

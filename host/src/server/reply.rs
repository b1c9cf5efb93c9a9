//! A reply to a request: its answer, or the future of one.

use std::future::Future;
use std::pin::Pin;

use crate::protocol::ErrorObject;

/// A result as JSON text, or an error.
pub(in crate::server) type Answer = Result<String, ErrorObject>;

/// A handler's future; dropping it cancels the request.
pub(in crate::server) type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// How a request is answered.
pub(in crate::server) enum Reply {
    Now(Answer),
    /// The envelope is wrong: revision, `_meta` or headers.
    Refused(ErrorObject),
    Later(Later),
    /// As `Later`, but long-lived: it does not count against the limit of running requests.
    Listen(Later),
}

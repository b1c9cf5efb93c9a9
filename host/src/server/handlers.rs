//! One file per feature: converts typed requests to results of the wire.

pub(in crate::server) mod completions;
pub(in crate::server) mod custom;
pub(in crate::server) mod lifecycle;
pub(in crate::server) mod page;
pub(in crate::server) mod prompts;
pub(in crate::server) mod resources;
pub(in crate::server) mod rounds;
pub(in crate::server) mod settled;
pub(in crate::server) mod subscriptions;
pub(in crate::server) mod tools;

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

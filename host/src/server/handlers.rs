//! One file per feature: a typed request in, the wire's answer out.

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

/// Work that may be dropped at any time, which cancels it.
pub(in crate::server) type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// How a request is answered.
pub(in crate::server) enum Reply {
    Now(Answer),
    /// What surrounds the request is wrong.
    Refused(ErrorObject),
    Later(Later),
    /// As `Later`, for as long as the client wants: it takes no place among the running.
    Listen(Later),
}

//! One file per feature: a typed request in, the wire's answer out.

pub mod lifecycle;
pub mod subscriptions;
pub mod tools;

use std::future::Future;
use std::pin::Pin;

use crate::protocol::ErrorObject;

/// A result as JSON text, or an error.
pub type Answer = Result<String, ErrorObject>;

/// Work that may be dropped at any time, which cancels it.
pub type Later = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// How a request is answered.
pub enum Reply {
    Now(Answer),
    Later(Later),
    /// As `Later`, for as long as the client wants: it takes no place among the running.
    Listen(Later),
}

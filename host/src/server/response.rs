//! A dispatched request: its response, or the future of one.

use std::future::Future;
use std::pin::Pin;

use crate::protocol::ErrorObject;

/// The result of a request as JSON text, or an error.
pub(in crate::server) type Response = Result<String, ErrorObject>;

/// A handler's future; dropping it cancels the request.
pub(in crate::server) type Later = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A request that was dispatched to its handler.
pub(in crate::server) enum Dispatched {
    Now(Response),
    /// The envelope is wrong: revision, `_meta` or headers.
    Refused(ErrorObject),
    Later(Later),
    /// As `Later`, but long-lived: it does not count against the limit of running requests.
    Listen(Later),
}

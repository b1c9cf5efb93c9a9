//! The outcome of a request that may require input first.

use crate::server::call_record::CallRecord;
use crate::server::refusal::Refusal;
use crate::server::response::Response;

/// The outcome of a request.
pub(in crate::server) enum Settled<T> {
    Complete(T),
    /// An `InputRequiredResult`, encoded.
    InputRequired(String),
}

impl<T> Settled<T> {
    /// Encodes a result with `shape` and a failure with `refuse`.
    pub(in crate::server) fn answer(
        settled: Result<Self, Refusal>,
        record: &mut CallRecord,
        refuse: impl FnOnce(Refusal) -> Response,
        shape: impl FnOnce(T) -> Response,
    ) -> Response {
        match settled {
            Ok(Self::Complete(outcome)) => shape(outcome),
            Ok(Self::InputRequired(result)) => {
                record.set_code("asks");
                Ok(result)
            }
            Err(error) => {
                record.set_refusal(&error);
                refuse(error)
            }
        }
    }
}

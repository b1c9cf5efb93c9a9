//! How a request ends that may ask for something before it has a result.

use super::Answer;
use crate::server::fault::Refusal;
use crate::server::trail::Trail;

/// How a request ends.
pub(in crate::server) enum Settled<T> {
    Complete(T),
    /// The whole result: an `InputRequiredResult`.
    Asks(String),
}

impl<T> Settled<T> {
    /// Answers a request whose result `shape` makes, and whose failure `refuse` answers.
    pub(in crate::server) fn answer(
        settled: Result<Self, Refusal>,
        trail: &mut Trail,
        refuse: impl FnOnce(Refusal) -> Answer,
        shape: impl FnOnce(T) -> Answer,
    ) -> Answer {
        match settled {
            Ok(Self::Complete(outcome)) => shape(outcome),
            Ok(Self::Asks(result)) => {
                trail.code("asks");
                Ok(result)
            }
            Err(error) => {
                trail.refused(&error);
                refuse(error)
            }
        }
    }
}

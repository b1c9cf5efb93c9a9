//! Why a call has no result. `fault` converts it to the wire's form.

use super::unapproved::Unapproved;
use crate::plugin::abi::GuestError;
use crate::plugin::{CallError, Fault};
use crate::protocol::{Ask, ErrorObject};

/// Why a call has no result.
pub(in crate::server) enum Refusal {
    Call(CallError),
    /// The plugin repeated a question that this client does not support.
    NeedsClient(Ask),
    /// The plugin exceeded the limit of rounds.
    TooManyRounds,
    /// A person did not allow it.
    Unapproved(Unapproved),
    /// The request itself is wrong.
    Request(ErrorObject),
}

impl Refusal {
    /// A code for programs: of the fault, or of another reason.
    pub(in crate::server) fn code(&self) -> &'static str {
        match self {
            Self::Call(CallError::Fault(fault)) => fault.code(),
            Self::Call(CallError::Guest(GuestError::Failed(_))) => "error",
            Self::Call(CallError::Input(_) | CallError::Guest(GuestError::InvalidInput(_))) => "bad-input",
            Self::Call(CallError::Guest(GuestError::NotFound)) => "not-found",
            Self::NeedsClient(_) => "needs-client",
            Self::TooManyRounds => "bad-output",
            Self::Unapproved(why) => why.code(),
            Self::Request(_) => "refused",
        }
    }
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Call(fault.into())
    }
}

impl From<Unapproved> for Refusal {
    fn from(why: Unapproved) -> Self {
        Self::Unapproved(why)
    }
}

impl From<ErrorObject> for Refusal {
    fn from(error: ErrorObject) -> Self {
        Self::Request(error)
    }
}

//! Why a call that a person is asked about was not run.

use std::fmt;

/// Why a call that a person is asked about was not run.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) enum Unapproved {
    /// By the user of the client.
    Declined,
    /// By the operator.
    Denied,
    /// The user's client gave no answer that can be used.
    Unanswered(String),
    /// An operator has to decide; the id of the request.
    Waits(String),
    /// Too many calls wait for a decision, or were decided.
    TooMany,
    /// There is no file in which an operator could decide.
    NoOperator,
    /// What was asked about is not what would run now: another version of the plugin, or other rules.
    Changed,
    /// Decisions cannot be read or written now.
    Unusable,
    /// The caller may not use the tool any more.
    Forbidden,
}

impl Unapproved {
    /// A code for programs.
    pub(in crate::server) fn code(&self) -> &'static str {
        match self {
            Self::Declined | Self::Denied => "declined",
            Self::Unanswered(_) => "unanswered",
            Self::Waits(_) | Self::NoOperator => "approval-required",
            Self::TooMany => "busy",
            Self::Changed => "changed",
            Self::Unusable => "host-error",
            Self::Forbidden => "forbidden",
        }
    }

    /// The id of the request to an operator.
    pub(in crate::server) fn request(&self) -> Option<&str> {
        match self {
            Self::Waits(id) => Some(id),
            _ => None,
        }
    }
}

impl fmt::Display for Unapproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declined => f.write_str("the user declined"),
            Self::Denied => f.write_str("denied by the operator"),
            Self::Unanswered(why) => write!(f, "the user was asked, and there is no answer: {why}"),
            Self::Waits(id) => write!(
                f,
                "it needs the approval of an operator. Ask the operator to run: wharf approvals allow {id}; \
                 then call again with the same arguments"
            ),
            Self::TooMany => f.write_str("too many calls wait for a decision; call again later"),
            Self::NoOperator => {
                f.write_str("it needs the approval of an operator, and this server has no folder for requests to one")
            }
            Self::Changed => f.write_str("the plugin or the rules changed while a person was asked; call again"),
            Self::Unusable => {
                f.write_str("what persons decide on calls cannot be read or written now; call again later")
            }
            Self::Forbidden => f.write_str("it may not be used any more"),
        }
    }
}

//! Why a guest was denied an access: the grant is missing, or it cannot be used.

use std::borrow::Cow;

use super::access::Access;

/// A denied access of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub access: Access,
    /// Why the grant cannot be used, worded for callers; `None`: the grant is missing.
    pub problem: Option<String>,
}

impl Denial {
    /// For a missing grant.
    pub fn without_grant(access: Access) -> Self {
        Self { access, problem: None }
    }
}

/// Why a grant cannot be used: for example, its secret or folder is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plugin) struct GrantProblem {
    /// For callers: without paths of the host.
    pub(in crate::plugin) message: String,
    /// For the operator, with the path.
    pub(in crate::plugin) logged: String,
    pub(in crate::plugin) hint: Cow<'static, str>,
}

impl GrantProblem {
    pub(in crate::plugin) fn denial(&self, access: Access) -> Denial {
        Denial { access, problem: Some(self.to_string()) }
    }
}

/// As callers see it.
impl std::fmt::Display for GrantProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

//! Why a guest was denied an access: the grant is missing, or it lacks what it needs.

use super::access::Access;

/// A denied access of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub access: Access,
    /// What the grant lacks, worded for callers; `None`: the grant is missing.
    pub lack: Option<String>,
}

impl Denial {
    /// For a missing grant.
    pub fn without_grant(access: Access) -> Self {
        Self { access, lack: None }
    }
}

/// What a grant lacks before it can be used, such as a secret or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plugin) struct Lack {
    /// For callers: without paths of the host.
    pub(in crate::plugin) message: String,
    /// For the operator, with the path.
    pub(in crate::plugin) logged: String,
    pub(in crate::plugin) hint: &'static str,
}

impl Lack {
    pub(in crate::plugin) fn denial(&self, access: Access) -> Denial {
        Denial { access, lack: Some(self.to_string()) }
    }
}

/// As callers see it.
impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.message, self.hint)
    }
}

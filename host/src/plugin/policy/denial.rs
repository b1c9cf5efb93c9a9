//! What a guest was denied, and why: it has no grant, or the grant lacks what it needs.

use super::access::Access;

/// What a call was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    pub access: Access,
    /// What the grant lacks, for whoever calls; `None`: no grant covers it.
    pub lack: Option<String>,
}

impl Denial {
    /// For want of a grant.
    pub fn without_grant(access: Access) -> Self {
        Self { access, lack: None }
    }
}

/// What a grant needs and has not. With it, the grant counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::plugin) struct Lack {
    /// For whoever calls: no place on this machine.
    pub(in crate::plugin) told: String,
    /// For the operator, with the place.
    pub(in crate::plugin) logged: String,
    pub(in crate::plugin) hint: &'static str,
}

impl Lack {
    pub(in crate::plugin) fn denial(&self, access: Access) -> Denial {
        Denial { access, lack: Some(self.to_string()) }
    }
}

/// As whoever calls is told.
impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.told, self.hint)
    }
}

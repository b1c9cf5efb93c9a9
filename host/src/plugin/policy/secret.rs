//! Secrets that a plugin's grants name, with their values.

use std::fmt;

use super::denial::GrantProblem;

/// A named secret.
#[derive(Clone, PartialEq)]
pub struct Secret {
    pub name: String,
    /// Whether the plugin itself may read it; else only the host uses it on the plugin's behalf.
    pub readable: bool,
    value: Result<String, Missing>,
}

/// Why a secret is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Reads after "which": what is wrong, and after a colon the details, such as a path.
    pub why: String,
    /// What to do, without the path.
    pub hint: &'static str,
    /// A temporary error: read again later.
    pub temporary: bool,
}

impl Secret {
    /// `value`: or why it is not available.
    pub fn new(name: String, readable: bool, value: Result<String, Missing>) -> Self {
        Self { name, readable, value }
    }

    /// The value, if it is available.
    pub fn expose(&self) -> Option<&str> {
        self.value.as_deref().ok()
    }

    /// Whether it has to be read again.
    pub(super) fn is_unread(&self) -> bool {
        self.value.as_ref().is_err_and(|missing| missing.temporary)
    }

    /// The problem of a grant that needs it, if it is not available.
    pub(in crate::plugin) fn problem(&self) -> Option<GrantProblem> {
        let Missing { why, hint, .. } = self.value.as_ref().err()?;
        let name = &self.name;
        let needs = format!("it needs the secret '{name}', which");
        let wrong = why.split(": ").next().unwrap_or_default();
        Some(GrantProblem { logged: format!("{needs} {why}"), message: format!("{needs} {wrong}"), hint })
    }
}

/// Never the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}

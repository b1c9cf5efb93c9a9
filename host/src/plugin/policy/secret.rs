//! Secrets that a plugin's grants name, with their values.

use std::borrow::Cow;
use std::fmt;

use super::denial::GrantProblem;

/// A named secret.
#[derive(Clone, PartialEq)]
pub struct Secret {
    pub name: String,
    /// Whether the plugin itself may read it; else only the host uses it on the plugin's behalf.
    pub readable: bool,
    value: Value,
}

#[derive(Clone, PartialEq)]
enum Value {
    Known(Result<String, Missing>),
    /// Each user has their own: found when a call begins.
    OfCaller,
    /// A token in the user's name: had when a request needs it.
    Exchanged,
}

/// Why a secret is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Reads after "which": what is wrong, and after a colon the details, such as a path.
    pub why: String,
    /// What to do, without the path.
    pub hint: Cow<'static, str>,
    /// A temporary error: read again later.
    pub temporary: bool,
}

impl Missing {
    /// Why, without the details.
    pub fn outline(&self) -> &str {
        self.why.split(": ").next().unwrap_or_default()
    }
}

impl Secret {
    /// `value`: or why it is not available.
    pub fn new(name: String, readable: bool, value: Result<String, Missing>) -> Self {
        Self { name, readable, value: Value::Known(value) }
    }

    /// One of which each user has their own value.
    pub fn personal(name: String, readable: bool) -> Self {
        Self { name, readable, value: Value::OfCaller }
    }

    /// Whether each user has their own, and this is nobody's.
    pub fn is_personal(&self) -> bool {
        self.value == Value::OfCaller
    }

    /// One that is a token in the name of each user, which a plugin never has.
    pub fn exchanged(name: String) -> Self {
        Self { name, readable: false, value: Value::Exchanged }
    }

    pub(in crate::plugin) fn is_exchanged(&self) -> bool {
        self.value == Value::Exchanged
    }

    /// The value, if it is available.
    pub fn expose(&self) -> Option<&str> {
        match &self.value {
            Value::Known(value) => value.as_deref().ok(),
            Value::OfCaller | Value::Exchanged => None,
        }
    }

    /// Whether it has to be read again.
    pub(super) fn is_unread(&self) -> bool {
        self.missing().is_some_and(|missing| missing.temporary)
    }

    /// Why it is not available, if it is not.
    pub(in crate::plugin) fn missing(&self) -> Option<&Missing> {
        match &self.value {
            Value::Known(value) => value.as_ref().err(),
            Value::OfCaller | Value::Exchanged => None,
        }
    }

    /// Why it is not available, with what to do: reads after its name.
    pub fn objection(&self) -> Option<String> {
        let Missing { why, hint, .. } = self.missing()?;
        Some(format!("{why}; {hint}"))
    }

    /// The problem of a grant that needs it, if it is not available.
    pub(in crate::plugin) fn problem(&self) -> Option<GrantProblem> {
        Some(self.missing()?.problem(&self.name))
    }
}

impl Missing {
    /// That of a grant that needs the secret of that name.
    pub(in crate::plugin) fn problem(&self, name: &str) -> GrantProblem {
        let needs = format!("it needs the secret '{name}', which");
        let (logged, message) = (format!("{needs} {}", self.why), format!("{needs} {}", self.outline()));
        GrantProblem { logged, message, hint: self.hint.clone() }
    }
}

/// Never the value.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}

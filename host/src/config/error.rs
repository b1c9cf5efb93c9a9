//! Why a configuration is invalid: in people's words, and by the keys that lead to a value.

use std::path::Path;

use wharf_report::{Hint, HintKind, ShowPath as _, bounded};

/// Why a configuration is invalid. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[error("read the configuration: {place}{reason}")]
pub struct ConfigError {
    /// Reads before the reason: the file, the line and the column, as far as they are known.
    pub(super) place: String,
    pub(super) reason: String,
    pub hint: Option<String>,
    pub(super) hint_kind: HintKind,
    /// A temporary error: read again later.
    pub(super) temporary: bool,
}

impl ConfigError {
    /// What they repeat of the file is bounded.
    pub(super) fn new(reason: String, hint: Option<String>) -> Self {
        let hint = hint.map(|hint| bounded(&hint).into_owned());
        let reason = bounded(&reason).into_owned();
        Self { place: String::new(), reason, hint, hint_kind: HintKind::Advice, temporary: false }
    }

    pub(super) fn at(place: String, reason: String, hint: Option<Hint>) -> Self {
        let (hint, hint_kind) = hint.map_or((None, HintKind::Advice), |hint| (Some(hint.text), hint.kind));
        Self { place, hint_kind, ..Self::new(reason, hint) }
    }

    /// Without the beginning that all have.
    pub fn reason(&self) -> String {
        format!("{}{}", self.place, self.reason)
    }

    /// The hint for callers that do not see the file.
    pub fn hint_with(self, file: &Path) -> Option<String> {
        match self.hint_kind {
            HintKind::Table => self.hint.map(|hint| format!("{hint} in {}", file.shown())),
            HintKind::Advice | HintKind::Form => self.hint,
        }
    }

    pub fn is_temporary(&self) -> bool {
        self.temporary
    }
}

/// A value of a file that has the right type, and is wrong nevertheless.
pub(super) struct WrongValue {
    /// The keys that lead to it, and numbers of entries.
    pub(super) keys: Vec<String>,
    /// Reads after the keys.
    pub(super) why: String,
    pub(super) hint: Option<Hint>,
}

impl WrongValue {
    pub(super) fn at(keys: &[&str], why: impl Into<String>) -> Self {
        Self { keys: keys.iter().map(|key| (*key).to_owned()).collect(), why: why.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<Hint>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, of a table to which these keys lead.
    pub(super) fn below(self, keys: &[&str]) -> Self {
        let above = keys.iter().map(|key| (*key).to_owned());
        Self { keys: above.chain(self.keys).collect(), ..self }
    }
}

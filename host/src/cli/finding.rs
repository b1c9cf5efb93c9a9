//! The result of one check of `wharf doctor`.

use serde_json::{Value, json};
use wharf_report::{ERROR, GOOD, HINT, WARNING, line};

use crate::report::{Failure, NAME};

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// It works without.
    Missing,
    /// A server does not start, or not as configured.
    Bad,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Missing => "note",
            Self::Bad => "error",
        }
    }
}

/// The result of one check.
pub(super) struct Finding {
    about: &'static str,
    state: State,
    text: String,
    hint: Option<String>,
}

impl Finding {
    pub(super) fn good(about: &'static str, text: impl Into<String>) -> Self {
        Self { about, state: State::Good, text: text.into(), hint: None }
    }

    pub(super) fn missing(about: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { about, state: State::Missing, text: text.into(), hint: Some(hint.into()) }
    }

    pub(super) fn bad(about: &'static str, failure: Failure) -> Self {
        let (what, hint) = failure.into_parts();
        Self { about, state: State::Bad, text: format!("failed to {what}"), hint }
    }

    /// With something to do although nothing is missing.
    pub(super) fn hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// Whether a server does not start, or not as configured.
    pub(super) fn is_bad(&self) -> bool {
        self.state == State::Bad
    }

    pub(super) fn to_text(&self) -> String {
        let (style, state) = match self.state {
            State::Good => (GOOD, "ok   "),
            State::Missing => (WARNING, "note "),
            State::Bad => (ERROR, "error"),
        };
        let mut text = format!("{style}{state}{style:#} {NAME}{:<14}{NAME:#} {}\n", self.about, line(&self.text));
        if let Some(hint) = &self.hint {
            text += &format!("{:21}{HINT}hint{HINT:#}: {}\n", "", line(hint));
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"about": self.about, "state": self.state.name(), "text": self.text, "hint": self.hint})
    }
}

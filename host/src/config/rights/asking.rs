//! The keys of `[rights]` for people who are asked before a tool runs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{RightsConfig, RuleConfig, WrongValue};
use crate::rights::{Approver, Ask, Asking};

/// How long a decision can hold at most.
const MAX_EXPIRY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum AskConfig {
    Never,
    First,
    Always,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ApproverConfig {
    /// The user of the client, where it can ask.
    User,
    Operator,
}

impl From<AskConfig> for Ask {
    fn from(config: AskConfig) -> Self {
        match config {
            AskConfig::Never => Self::Never,
            AskConfig::First => Self::First,
            AskConfig::Always => Self::Always,
        }
    }
}

impl RightsConfig {
    /// # Errors
    /// If a decision would hold for no time, or for ever.
    pub(super) fn asking(&self) -> Result<Asking, WrongValue> {
        let default = Asking::default();
        let expires = self.ask_expires.unwrap_or(default.expires);
        // Decisions are kept in whole seconds.
        if expires < Duration::from_secs(1) || expires > MAX_EXPIRY {
            return Err(WrongValue::at(&["ask-expires"], "must be between a second and a year")
                .hint("write ask-expires = \"8h\""));
        }
        Ok(Asking {
            destructive: self.ask_destructive.map_or(default.destructive, Ask::from),
            approver: match self.approver {
                Some(ApproverConfig::Operator) => Approver::Operator,
                Some(ApproverConfig::User) | None => Approver::User,
            },
            expires,
        })
    }
}

impl RuleConfig {
    /// # Errors
    /// If the rule allows no tool.
    pub(super) fn asks(&self) -> Result<Option<Ask>, WrongValue> {
        if self.ask.is_some() && self.deny {
            let hint = "omit ask: nobody is asked about what is denied";
            return Err(WrongValue::at(&["ask"], "must not be in a rule that denies").hint(hint));
        }
        if self.ask.is_some() && self.plugins.is_empty() && self.tools.is_empty() {
            let hint = "write plugins or tools in this rule: nobody is asked about prompts and resources";
            return Err(WrongValue::at(&["ask"], "must be in a rule that names tools").hint(hint));
        }
        Ok(self.ask.map(Ask::from))
    }
}

//! Before which tools a person is asked, and who that is.

use std::sync::Arc;
use std::time::Duration;

use super::{Item, Permissions, Rights, Sought};
use crate::identity::Identity;

/// How often a person is asked before a tool runs. The order is that of strictness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    #[default]
    Never,
    /// Before the first call of the same user, version and tool, for a while.
    First,
    /// Before each call.
    Always,
}

/// Who decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approver {
    /// The user of the client, if the client can ask; otherwise the operator.
    #[default]
    User,
    /// Whoever runs the server.
    Operator,
}

/// What rules do not say themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// For tools that may destroy something, where no rule says it.
    pub destructive: Ask,
    pub approver: Approver,
    /// How long a decision holds, and how long a request waits for an operator.
    pub expires: Duration,
}

impl Default for Asking {
    fn default() -> Self {
        Self { destructive: Ask::Never, approver: Approver::User, expires: Duration::from_secs(8 * 60 * 60) }
    }
}

impl Rights {
    /// Whether some tools are asked about.
    pub fn asks(&self) -> bool {
        self.asking.destructive != Ask::Never
            || self.rules.iter().any(|rule| rule.ask.unwrap_or_default() != Ask::Never)
    }

    /// Whether a person is asked before somebody may run a tool that they may use.
    pub fn ask(self: &Arc<Self>, identity: &Identity, plugin: &str, tool: &str, is_destructive: bool) -> Ask {
        if !self.asks() {
            return Ask::Never;
        }
        let by_rule = self.of(identity).ask_of_rule(plugin, tool);
        by_rule.unwrap_or(if is_destructive { self.asking.destructive } else { Ask::Never })
    }
}

impl Permissions {
    /// What the first rule that holds, allows the tool and says it has.
    fn ask_of_rule(&self, plugin: &str, tool: &str) -> Option<Ask> {
        let held = self.0.as_ref()?;
        let tool = Sought::new(plugin, Item::Tool(tool));
        let rules = held.holding.iter().map(|at| &held.rights.rules[*at]);
        rules.filter(|rule| !rule.denies && tool.is_named(rule)).find_map(|rule| rule.ask)
    }
}

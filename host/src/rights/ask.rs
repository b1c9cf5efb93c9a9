//! Before which tools a person is asked, and who that is.

use std::time::Duration;

use super::{Item, Permissions, Rights, Sought};

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

    /// Whether a person is asked before somebody with those permissions runs a tool that they may use.
    pub fn ask(&self, permissions: &Permissions, plugin: &str, tool: &str, is_destructive: bool) -> Ask {
        if !self.asks() {
            return Ask::Never;
        }
        let by_rule = permissions.ask_of_rule(plugin, tool);
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

#[cfg(test)]
mod tests {
    use super::super::{Condition, Named, Pattern, Rule};
    use std::sync::Arc;

    use super::*;
    use crate::identity::Identity;

    fn rule(when: Option<&str>, tools: &str, ask: Option<Ask>) -> Rule {
        let pattern = |text: &str| Pattern::new(text).expect("a pattern");
        let (plugin, tool) = tools.split_once('/').expect("PLUGIN/TOOL");
        Rule {
            when: Condition { tokens: when.map(pattern).into_iter().collect(), ..Condition::default() },
            what: Named { tools: vec![(pattern(plugin), pattern(tool))], ..Named::default() },
            ask,
            ..Rule::default()
        }
    }

    fn rights(destructive: Ask, rules: Vec<Rule>) -> Arc<Rights> {
        Arc::new(Rights { rules, asking: Asking { destructive, ..Asking::default() }, ..Rights::default() })
    }

    #[test]
    fn the_first_rule_that_holds_and_says_it_decides() {
        let rights = rights(
            Ask::Never,
            vec![
                rule(Some("ci"), "notes/delete", Some(Ask::Never)),
                Rule { denies: true, ..rule(None, "notes/delete", None) },
                rule(None, "notes/*", None),
                rule(None, "notes/*", Some(Ask::First)),
                rule(None, "*/delete", Some(Ask::Always)),
            ],
        );
        let ask =
            |who: &str, plugin: &str, tool: &str| rights.ask(&rights.of(&Identity::token(who)), plugin, tool, true);
        assert_eq!(ask("ci", "notes", "delete"), Ask::Never);
        assert_eq!(ask("me", "notes", "delete"), Ask::First);
        assert_eq!(ask("me", "text", "delete"), Ask::Always);
        assert_eq!(ask("me", "text", "diff"), Ask::Never);
    }

    #[test]
    fn what_may_destroy_is_asked_about_where_no_rule_says_it() {
        let rules = vec![rule(None, "notes/delete", Some(Ask::Never)), rule(None, "notes/add", None)];
        let rights = rights(Ask::First, rules);
        let ask =
            |tool: &str, is_destructive| rights.ask(&rights.of(&Identity::local()), "notes", tool, is_destructive);
        assert_eq!(["delete", "add", "other"].map(|tool| ask(tool, true)), [Ask::Never, Ask::First, Ask::First]);
        assert_eq!(["delete", "add", "other"].map(|tool| ask(tool, false)), [Ask::Never; 3]);
        // Also without rules.
        let alone = super::tests::rights(Ask::Always, Vec::new());
        assert!(alone.asks() && alone.is_open() && !Rights::default().asks());
        assert_eq!(alone.ask(&alone.of(&Identity::local()), "notes", "delete", true), Ask::Always);
    }

    #[test]
    fn a_rule_that_excepts_a_tool_says_nothing_about_it() {
        let pattern = |text: &str| Pattern::new(text).expect("a pattern");
        let mut all = rule(None, "notes/*", Some(Ask::Always));
        all.what.except = vec![(pattern("notes"), pattern("list"))];
        let rights = rights(Ask::Never, vec![all]);
        let ask = |tool: &str| rights.ask(&rights.of(&Identity::local()), "notes", tool, true);
        assert_eq!(["delete", "list"].map(ask), [Ask::Always, Ask::Never]);
    }
}

//! `[[budgets]]`: what may be spent in a time.
//!
//! Checks the syntax; `budgets` counts.

use std::collections::HashSet;
use std::time::Duration;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::rights::{Texts, WhenConfig, checked_name, pairs, plugins};
use super::{Config, WrongValue};
use crate::budgets::{Budget, Limits, Per};
use crate::rights::Implications;

/// Maximum budgets: each is looked at for each call.
const MAX_BUDGETS: usize = 64;
const DEFAULT_WINDOW: Duration = Duration::from_secs(60);
const MIN_WINDOW: Duration = Duration::from_secs(1);
/// A budget lives as long as its process: a longer window would seldom be what it says.
const MAX_WINDOW: Duration = Duration::from_secs(31 * 24 * 3600);

/// One entry of `budgets`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BudgetConfig {
    /// For people; unset: its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose calls it counts, as in rules of `[rights]`; unset: those of all.
    pub when: WhenConfig,
    /// Plugins, with all that they offer; with neither plugins nor tools, everything is counted.
    pub plugins: Vec<String>,
    /// `PLUGIN/TOOL`.
    pub tools: Vec<String>,
    /// What has an account of its own: "subject", "plugin", "tool"; an empty array: one account for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Texts>,
    /// Calls in a window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Calls at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
    /// Computing time in a window.
    #[serde(with = "super::duration", skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Duration>,
    /// Bytes of inputs and results in a window.
    #[serde(with = "super::size", skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteSize>,
    #[serde(with = "super::duration", skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
}

impl Config {
    /// What may be spent, and the scopes that include others.
    pub fn budgets(&self) -> (Vec<Budget>, Implications) {
        let all = self.budgets.iter().flatten().enumerate();
        // Of a file that was read: it was checked.
        let budgets = all.filter_map(|(at, budget)| budget.build(at).ok()).collect();
        (budgets, self.rights().implied)
    }

    /// # Errors
    /// If a budget is malformed or limits nothing, or two have one name.
    pub(super) fn check_budgets(&self) -> Result<(), WrongValue> {
        let Some(budgets) = &self.budgets else { return Ok(()) };
        if budgets.len() > MAX_BUDGETS {
            return Err(WrongValue::at(&[], format!("must have at most {MAX_BUDGETS} entries"))
                .hint("per = \"subject\" gives each user an account, patterns with * name several plugins"));
        }
        let mut names = HashSet::new();
        for (at, budget) in budgets.iter().enumerate() {
            let number = at.to_string();
            let built = budget.build(at).map_err(|wrong| wrong.below(&[&number]))?;
            self.check_when(&budget.when).map_err(|wrong| wrong.below(&[&number, "when"]))?;
            if !names.insert(built.name.clone()) {
                let why = format!("two budgets have the name {:?}", built.name);
                return Err(WrongValue::at(&[&number, "name"], why).hint("give each a name of its own"));
            }
        }
        Ok(())
    }
}

impl BudgetConfig {
    pub fn shown_name(&self, at: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("budget {}", at + 1))
    }

    fn build(&self, at: usize) -> Result<Budget, WrongValue> {
        let name = checked_name(self.shown_name(at))?;
        let limits = Limits {
            calls: self.calls,
            cpu: self.cpu,
            bytes: self.bytes.map(|size| size.as_u64()),
            concurrent: self.concurrent,
            window: self.window.unwrap_or(DEFAULT_WINDOW),
        };
        let zero = [
            ("calls", limits.calls == Some(0)),
            ("concurrent", limits.concurrent == Some(0)),
            ("cpu", limits.cpu == Some(Duration::ZERO)),
            ("bytes", limits.bytes == Some(0)),
        ];
        if let Some((key, _)) = zero.iter().find(|(_, is_zero)| *is_zero) {
            return Err(WrongValue::at(&[key], "must not be 0: no call could run")
                .hint("omit it if it does not matter; [rights] decides who may call what"));
        }
        if limits == (Limits { window: limits.window, ..Limits::default() }) {
            return Err(WrongValue::at(&[], "limits nothing")
                .hint("write at least one of calls = 60, concurrent = 4, cpu = \"10s\", bytes = \"10MiB\""));
        }
        if !(MIN_WINDOW..=MAX_WINDOW).contains(&limits.window) {
            return Err(
                WrongValue::at(&["window"], "must be from 1s to 31days").hint("write it like this: window = \"60s\"")
            );
        }
        let when = self.when.build().map_err(|wrong| wrong.below(&["when"]))?;
        let (plugins, tools) = (plugins(&self.plugins)?, pairs("tools", &self.tools)?);
        Ok(Budget { name: name.into(), when, plugins, tools, per: self.per()?, limits })
    }

    fn per(&self) -> Result<Per, WrongValue> {
        let Some(texts) = &self.per else { return Ok(Per { subject: true, ..Per::default() }) };
        let mut per = Per::default();
        for text in texts.all() {
            *match text.as_str() {
                "subject" => &mut per.subject,
                "plugin" => &mut per.plugin,
                "tool" => &mut per.tool,
                other => {
                    let hint = match other {
                        "minute" | "hour" | "day" | "second" => "the time is written as window: window = \"1m\"",
                        other if humantime::parse_duration(other).is_ok() => {
                            "the time is written as window: window = \"1m\""
                        }
                        "group" => "one account of a group is per = [] with when = { group = \"NAME\" }",
                        _ => "it can have \"subject\", \"plugin\" and \"tool\"; per = [] is one account for all",
                    };
                    return Err(WrongValue::at(&["per"], format!("cannot have {other:?}")).hint(hint));
                }
            } = true;
        }
        Ok(per)
    }
}

//! What other processes spend of the same accounts.
//!
//! Each says of its accounts how much it has spent since they are open. From one report to the next, the difference is
//! charged here. Of the first report that names an account, what has not come back is charged, and no more is left here
//! than there, where they may have heard of others too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Key;
use super::account::Account;

/// Processes that one account knows.
const MAX_OTHERS: usize = 64;
/// For how long calls count as running of which nothing more is heard.
pub(super) const HEARD: Duration = Duration::from_secs(3);
/// Bytes of a name in a report.
const MAX_NAME: usize = 4096;

/// What a process has spent of one account.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spending {
    budget: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// By this process since it opened the account: calls, seconds and bytes.
    spent: [f64; 3],
    /// What of that has not come back.
    own: [f64; 3],
    /// What has not come back, by whomever it was spent.
    used: [f64; 3],
    #[serde(default)]
    running: u32,
}

/// See [`super::Budgets::recent_spending`].
#[derive(Debug, Default)]
pub struct RecentSpending {
    pub accounts: Vec<Spending>,
    /// Whether anything has changed, or calls run alone.
    pub has_changed: bool,
}

/// What one other process has said of an account.
#[derive(Debug)]
pub(super) struct Other {
    process: Arc<str>,
    /// When it said so: milliseconds since 1970, by its clock.
    at: u64,
    spent: [f64; 3],
    running: u32,
    heard: Instant,
}

impl Spending {
    pub(super) fn new(key: &Key, account: &Account) -> Self {
        let (spent, own) = account.spent_here();
        Self {
            budget: key.budget.to_string(),
            subject: key.subject.as_deref().map(Into::into),
            plugin: key.plugin.as_deref().map(Into::into),
            tool: key.tool.as_deref().map(Into::into),
            spent,
            own,
            used: account.used(),
            running: account.running(),
        }
    }

    /// Bytes of its names: the rest is small.
    pub fn size(&self) -> usize {
        let names = [&self.subject, &self.plugin, &self.tool];
        self.budget.len() + names.into_iter().flatten().map(String::len).sum::<usize>()
    }

    pub(super) fn budget(&self) -> &str {
        &self.budget
    }

    /// `None`: it cannot be one of this program's.
    pub(super) fn key(&self, budget: &Arc<str>) -> Option<Key> {
        let all = self.spent.iter().chain(&self.own).chain(&self.used);
        (self.size() <= MAX_NAME && all.into_iter().all(|number| number.is_finite() && *number >= 0.0)).then(|| Key {
            budget: budget.clone(),
            subject: self.subject.as_deref().map(Into::into),
            plugin: self.plugin.as_deref().map(Into::into),
            tool: self.tool.as_deref().map(Into::into),
        })
    }
}

impl Account {
    /// Charges what another process has spent. `at`: when it said so; `ago`: how long ago that is.
    pub(super) fn spent_elsewhere(
        &mut self,
        process: &Arc<str>,
        said: &Spending,
        (at, ago): (u64, Duration),
        now: Instant,
    ) {
        self.refill(now);
        let other = Other { process: process.clone(), at, spent: said.spent, running: said.running, heard: now };
        match self.others.iter_mut().find(|known| known.process == *process) {
            // An older report that comes late.
            Some(known) if known.at >= at => {}
            Some(known) => {
                // Less than before: it has opened the account anew.
                let began_anew = said.spent.iter().zip(known.spent).any(|(now, before)| *now < before);
                let before = if began_anew { [0.0; 3] } else { known.spent };
                let new = std::array::from_fn(|kind| said.spent[kind] - before[kind]);
                *known = other;
                self.charge(new);
            }
            None => {
                let back = 1.0 - (ago.as_secs_f64() / self.limits.window.as_secs_f64()).min(1.0);
                self.charge_first(said.own.map(|own| own * back), said.used.map(|used| used * back));
                if self.others.len() >= MAX_OTHERS
                    && let Some(oldest) = (0..self.others.len()).min_by_key(|index| self.others[*index].heard)
                {
                    self.others.swap_remove(oldest);
                }
                self.others.push(other);
            }
        }
    }

    /// Calls that run in other processes.
    pub(super) fn running_elsewhere(&self, now: Instant) -> u32 {
        let heard = self.others.iter().filter(|other| now.saturating_duration_since(other.heard) < HEARD);
        heard.fold(0, |sum, other| sum.saturating_add(other.running))
    }
}

//! What identities may spend in a time: calls, calls at a time, computing time, bytes.
//!
//! Each budget has accounts, which refill continuously (a token bucket): what was spent comes back within its window.
//! Computing time and results are charged when they are known, so an account can be overdrawn by the calls that run; it
//! then stays closed until that is paid back. Pure: it knows neither the configuration's format nor MCP.

mod account;
mod elsewhere;
mod usage;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::identity::Identity;
use crate::rights::{Condition, Implications, Item, Pattern};
use crate::sync::lock;
use account::Account;
pub use account::{Kind, Limits};
pub use elsewhere::{RecentSpending, Spending};
pub use usage::{Left, Usage};

/// Maximum accounts in all. Further ones of a budget share one, so that new identities neither evict the accounts of
/// others nor get by without one.
const MAX_ACCOUNTS: usize = 65_536;
/// Minimum time between two searches for accounts that are not needed any more.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// One budget.
#[derive(Debug)]
pub struct Budget {
    /// For people, and the key of its accounts: they outlast a change of the rest.
    pub name: Arc<str>,
    /// Whose calls it counts.
    pub when: Condition,
    /// Which calls it counts: those to these plugins and tools; both empty: all.
    pub plugins: Vec<Pattern>,
    /// Plugin and tool.
    pub tools: Vec<(Pattern, Pattern)>,
    pub per: Per,
    pub limits: Limits,
}

/// What has an account of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Per {
    pub subject: bool,
    pub plugin: bool,
    pub tool: bool,
}

/// All budgets of a server, with their accounts.
#[derive(Debug, Default)]
pub struct Budgets {
    rules: ArcSwap<Rules>,
    accounts: Mutex<Accounts>,
}

#[derive(Debug, Default)]
struct Rules {
    budgets: Vec<Budget>,
    implied: Implications,
}

#[derive(Debug, Default)]
struct Accounts {
    by_key: HashMap<Key, Account>,
    swept: Option<Instant>,
}

/// Whose account it is. What its budget does not tell apart is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    budget: Arc<str>,
    subject: Option<Arc<str>>,
    plugin: Option<Box<str>>,
    tool: Option<Box<str>>,
}

/// Why a call must wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exhausted {
    pub budget: Arc<str>,
    pub kind: Kind,
    /// Until the account is open again, if nothing else is charged; for calls at a time a guess. `None`: the input is
    /// larger than the whole budget.
    pub retry_after: Option<Duration>,
}

/// A call that is charged. It counts as running until the last reference is dropped.
#[derive(Debug)]
pub struct Charge {
    budgets: Arc<Budgets>,
    keys: Vec<Key>,
}

impl Budgets {
    /// Replaces the budgets. Accounts of those that keep their names stay.
    pub fn replace(&self, budgets: Vec<Budget>, implied: Implications) {
        let mut accounts = lock(&self.accounts);
        let now = Instant::now();
        for (key, account) in &mut accounts.by_key {
            if let Some(budget) = budgets.iter().find(|budget| budget.name == key.budget) {
                account.set_limits(budget.limits, now);
            }
        }
        accounts
            .by_key
            .retain(|key, account| account.running() > 0 || budgets.iter().any(|budget| budget.name == key.budget));
        self.rules.store(Arc::new(Rules { budgets, implied }));
    }

    /// Charges a call with the bytes of its input. `None`: no budget counts it.
    ///
    /// # Errors
    /// If an account is closed; nothing is charged then.
    pub fn begin(
        self: &Arc<Self>,
        identity: &Identity,
        plugin: &str,
        item: Item<'_>,
        input: usize,
        now: Instant,
    ) -> Result<Option<Arc<Charge>>, Exhausted> {
        let rules = self.rules.load();
        if rules.budgets.is_empty() {
            return Ok(None);
        }
        let counting: Vec<(Key, Limits)> = rules.counting(identity, plugin, item).collect();
        if counting.is_empty() {
            return Ok(None);
        }
        let mut accounts = lock(&self.accounts);
        let mut keys = Vec::with_capacity(counting.len());
        let mut closed: Option<Exhausted> = None;
        for (key, limits) in counting {
            let (key, account) = accounts.open(key, limits, now);
            if let Err((kind, retry_after)) = account.admit(input, now)
                && closed.as_ref().is_none_or(|closed| is_longer(retry_after, closed.retry_after))
            {
                closed = Some(Exhausted { budget: key.budget.clone(), kind, retry_after });
            }
            keys.push(key);
        }
        if let Some(exhausted) = closed {
            let refusing = keys.iter().filter(|key| key.budget == exhausted.budget);
            accounts.each(refusing, |account| account.refused += 1);
            return Err(exhausted);
        }
        accounts.each(&keys, |account| account.begin(input));
        drop(accounts);
        Ok(Some(Arc::new(Charge { budgets: self.clone(), keys })))
    }

    /// The accounts from which something is spent, the most used first, at most so many.
    pub fn usage(&self, most: usize) -> Vec<Usage> {
        let rules = self.rules.load();
        if rules.budgets.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let mut accounts = lock(&self.accounts);
        accounts.most_used(most, now).into_iter().map(|(key, account)| Usage::new(key, account)).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.load().budgets.is_empty()
    }

    /// The longest window.
    pub fn window(&self) -> Duration {
        self.rules.load().budgets.iter().map(|budget| budget.limits.window).max().unwrap_or_default()
    }

    /// What this process has spent of accounts that have changed lately, or in which calls run, for others; at most so
    /// many.
    pub fn recent_spending(&self, most: usize) -> RecentSpending {
        let now = Instant::now();
        let mut accounts = lock(&self.accounts);
        let changed = accounts.by_key.iter_mut().filter(|(_, account)| account.reports > 0 || account.running() > 0);
        let mut recent = RecentSpending::default();
        for (key, account) in changed.take(most) {
            recent.has_changed |= account.reports > 0;
            account.reports = account.reports.saturating_sub(1);
            account.refill(now);
            recent.accounts.push(Spending::new(key, account));
        }
        recent
    }

    /// What this process has spent of the accounts of which least is left, for processes that start; at most so many.
    pub fn spending(&self, most: usize) -> Vec<Spending> {
        let mut accounts = lock(&self.accounts);
        accounts.most_used(most, Instant::now()).into_iter().map(|(key, own)| Spending::new(key, own)).collect()
    }

    /// Charges what another process said that it has spent: at that time, in milliseconds since 1970, so long ago.
    pub fn spent_elsewhere(&self, process: &str, said: &[Spending], (at, ago): (u64, Duration), now: Instant) {
        let rules = self.rules.load();
        let process: Arc<str> = process.into();
        let mut accounts = lock(&self.accounts);
        for said in said {
            let Some(budget) = rules.budgets.iter().find(|budget| *budget.name == *said.budget()) else { continue };
            let Some(key) = said.key(&budget.name) else { continue };
            let (_, account) = accounts.open(key, budget.limits, now);
            account.spent_elsewhere(&process, said, (at, ago), now);
        }
    }
}

/// Whether the first wait is longer; none is for ever.
fn is_longer(one: Option<Duration>, other: Option<Duration>) -> bool {
    one.map_or(other.is_some(), |one| other.is_some_and(|other| other < one))
}

impl Rules {
    /// The accounts that a call is charged to.
    fn counting<'a>(
        &'a self,
        identity: &'a Identity,
        plugin: &'a str,
        item: Item<'a>,
    ) -> impl Iterator<Item = (Key, Limits)> {
        let tool = match item {
            Item::Tool(name) => Some(name),
            _ => None,
        };
        let mut named = self.budgets.iter().filter(move |budget| budget.counts(plugin, tool)).peekable();
        let scopes = named.peek().map(|_| self.implied.all_of(identity)).unwrap_or_default();
        named.filter(move |budget| budget.when.holds(identity, &scopes)).map(move |budget| {
            let key = Key {
                budget: budget.name.clone(),
                subject: budget.per.subject.then(|| identity.name().clone()),
                plugin: (budget.per.plugin || budget.per.tool).then(|| plugin.into()),
                tool: tool.filter(|_| budget.per.tool).map(Into::into),
            };
            (key, budget.limits)
        })
    }
}

impl Budget {
    fn counts(&self, plugin: &str, tool: Option<&str>) -> bool {
        let all = self.plugins.is_empty() && self.tools.is_empty();
        let is_named =
            |(of, name): &(Pattern, Pattern)| of.matches(plugin) && tool.is_some_and(|tool| name.matches(tool));
        all || self.plugins.iter().any(|pattern| pattern.matches(plugin)) || self.tools.iter().any(is_named)
    }
}

impl Accounts {
    /// The account of a key, or the one that it shares if there are too many.
    fn open(&mut self, key: Key, limits: Limits, now: Instant) -> (Key, &mut Account) {
        let is_full = self.by_key.len() >= MAX_ACCOUNTS && !self.by_key.contains_key(&key);
        if is_full && self.swept.is_none_or(|swept| now.saturating_duration_since(swept) >= SWEEP_PAUSE) {
            self.sweep(now);
        }
        let key = if is_full && self.by_key.len() >= MAX_ACCOUNTS {
            Key { subject: None, plugin: None, tool: None, ..key }
        } else {
            key
        };
        let account = self.by_key.entry(key.clone()).or_insert_with(|| Account::new(limits, now));
        (key, account)
    }

    fn each<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>, mut change: impl FnMut(&mut Account)) {
        for key in keys {
            if let Some(account) = self.by_key.get_mut(key) {
                change(account);
            }
        }
    }

    /// The accounts from which something is spent, the most used first, at most so many.
    fn most_used(&mut self, most: usize, now: Instant) -> Vec<(&Key, &Account)> {
        self.sweep(now);
        let mut used: Vec<_> = self.by_key.iter().map(|(key, own)| (own.left_share(), key, own)).collect();
        let order = |one: &(f64, &Key, _), other: &(f64, &Key, _)| one.0.total_cmp(&other.0).then(one.1.cmp(other.1));
        if used.len() > most {
            used.select_nth_unstable_by(most, order);
            used.truncate(most);
        }
        used.sort_unstable_by(order);
        used.into_iter().map(|(_, key, account)| (key, account)).collect()
    }

    /// Removes the accounts that are as new ones.
    fn sweep(&mut self, now: Instant) {
        self.swept = Some(now);
        self.by_key.retain(|_, account| {
            account.refill(now);
            account.is_used()
        });
    }
}

impl Charge {
    /// Charges computing time.
    pub fn cpu(&self, spent: Duration) {
        self.spend(|account| account.spend(Kind::Cpu, spent.as_secs_f64()));
    }

    /// Charges the bytes of a result.
    pub fn output(&self, bytes: usize) {
        self.spend(|account| account.spend(Kind::Bytes, bytes as f64));
    }

    fn spend(&self, spend: impl FnMut(&mut Account)) {
        lock(&self.budgets.accounts).each(&self.keys, spend);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.spend(Account::end);
    }
}

impl fmt::Display for Exhausted {
    /// Reads after "busy: ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, kind, .. } = self;
        match self.seconds() {
            Some(seconds) => write!(f, "{kind} of the budget '{budget}' are used up; send this again in {seconds} s"),
            None => write!(f, "the request has more than {kind} of the budget '{budget}'"),
        }
    }
}

impl Exhausted {
    /// Whole seconds to wait, at least one.
    pub fn seconds(&self) -> Option<u64> {
        Some((self.retry_after?.as_secs_f64().ceil() as u64).max(1))
    }
}

#[cfg(test)]
mod tests;

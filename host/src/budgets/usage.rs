//! What is left of budgets, for people and programs.

use serde::{Deserialize, Serialize};

use super::Key;
use super::account::Account;

/// One account.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Usage {
    pub budget: String,
    /// The identity, if each has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<Left>,
    /// Seconds of computing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Left>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Left>,
    pub running: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
    /// Seconds in which all of it comes back.
    pub window: f64,
    /// Calls that were refused since the account is used.
    pub refused: u64,
}

/// Below zero, it is overdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct Left {
    pub left: f64,
    pub of: f64,
}

impl Usage {
    pub(super) fn new(key: &Key, account: &Account) -> Self {
        let [calls, cpu, bytes] = account.left().map(|left| left.map(|(left, of)| Left { left, of }));
        Self {
            budget: key.budget.to_string(),
            subject: key.subject.as_deref().map(Into::into),
            plugin: key.plugin.as_deref().map(Into::into),
            tool: key.tool.as_deref().map(Into::into),
            calls,
            cpu,
            bytes,
            running: account.running(),
            concurrent: account.limits.concurrent,
            window: account.limits.window.as_secs_f64(),
            refused: account.refused,
        }
    }
}

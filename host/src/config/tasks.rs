//! `[tasks]`, and the same for one plugin: calls that go on without their request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::WrongValue;
use super::limits::{concurrency_up_to, nonzero_time};
use crate::plugin::TaskLimits;

/// The longest time for which a task is kept.
const MAX_KEEP: Duration = Duration::from_secs(366 * 24 * 3600);

/// What is absent falls back to `[tasks]`, then to the defaults.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TasksConfig {
    /// After that time, a call that can be a task becomes one; zero: at once.
    #[serde(with = "super::duration", skip_serializing_if = "Option::is_none")]
    pub after: Option<Duration>,
    /// Wall-clock time of a round.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
    /// CPU time of a round.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub cpu: Option<Duration>,
    /// Tasks that run at the same time; others wait for their turn.
    #[serde(
        deserialize_with = "concurrency_up_to::<_, { TaskLimits::MAX_CONCURRENCY }>",
        skip_serializing_if = "Option::is_none"
    )]
    pub concurrency: Option<u32>,
    /// For how long a task is kept, from its creation.
    #[serde(
        serialize_with = "super::duration::serialize",
        deserialize_with = "nonzero_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub keep: Option<Duration>,
}

impl TasksConfig {
    pub(super) fn apply(&self, limits: &mut TaskLimits) {
        limits.after = self.after.unwrap_or(limits.after);
        limits.timeout = self.timeout.unwrap_or(limits.timeout);
        limits.cpu = self.cpu.unwrap_or(limits.cpu);
        limits.concurrency = self.concurrency.unwrap_or(limits.concurrency);
        limits.keep = self.keep.unwrap_or(limits.keep);
    }

    /// # Errors
    /// If tasks would be kept too long.
    pub(super) fn check(&self) -> Result<(), WrongValue> {
        match self.keep {
            Some(keep) if keep > MAX_KEEP => {
                Err(WrongValue::at(&["keep"], "is over the maximum of 366 days").hint("write keep = \"24h\""))
            }
            _ => Ok(()),
        }
    }
}

impl From<&TaskLimits> for TasksConfig {
    fn from(limits: &TaskLimits) -> Self {
        Self {
            after: Some(limits.after),
            timeout: Some(limits.timeout),
            cpu: Some(limits.cpu),
            concurrency: Some(limits.concurrency),
            keep: Some(limits.keep),
        }
    }
}

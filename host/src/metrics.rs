//! What a server counts and measures, for Prometheus: plain numbers under bounded labels.
//!
//! Knows neither plugins nor MCP: it is given names and numbers. A handle that is off counts nothing. Labels are never
//! subjects of tokens, and only so many plugins and tools have their own; the rest are counted as `other`.

mod cost;
#[cfg_attr(not(feature = "metrics"), path = "metrics/absent.rs")]
mod families;
pub mod read;
mod sample;
#[cfg(feature = "metrics")]
mod tools;

use std::sync::Arc;
use std::time::Duration;

pub use cost::{Cost, Spent};
use families::{Families, PerTool};
pub use sample::{BudgetLeft, Sample};

/// The label of what has no label of its own.
pub const OTHER: &str = "other";

/// Results of calls that are no errors: a call that asks goes on with the answers.
pub const NO_ERRORS: [&str; 4] = ["ok", "asks", "answered", "cancelled"];

/// Whether this build can serve metrics.
pub const SUPPORTED: bool = cfg!(feature = "metrics");

/// The metrics of a server. Cheap to clone; the default one is off.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<Families>>);

/// A request that was answered or cancelled.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// [`OTHER`] if it is not a method of the server.
    pub method: &'static str,
    /// Empty if it has none.
    pub revision: &'static str,
    /// Empty if there was none.
    pub error: &'static str,
}

/// The counters of one tool of a plugin, or of what a plugin does besides, or of what reaches no plugin.
#[derive(Clone, Default)]
pub struct Target(Option<Arc<PerTool>>);

/// How a call of a plugin ended.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    pub result: &'static str,
    /// The plugin is at fault.
    pub is_fault: bool,
    pub took: Duration,
    pub received: u64,
    pub sent: u64,
    pub spent: Spent,
}

/// What is open for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKind {
    /// Of HTTP.
    Connection,
    /// Of HTTP, in revisions that have sessions.
    Session,
    /// Of HTTP, beyond a response.
    Stream,
    /// A task that this process runs.
    Task,
}

impl OpenKind {
    pub const ALL: [Self; 4] = [Self::Connection, Self::Session, Self::Stream, Self::Task];

    /// Its label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Session => "session",
            Self::Stream => "stream",
            Self::Task => "task",
        }
    }
}

/// Something that is open, counted until this is dropped.
#[derive(Default)]
pub struct Counted(Option<(Arc<Families>, OpenKind)>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some((families, kind)) = &self.0 {
            families.opened(*kind, -1);
        }
    }
}

impl Target {
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Metrics {
    /// Counts from now on. Off in a build without metrics.
    pub fn on(version: &str) -> Self {
        Self(Families::new(version).map(Arc::new))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Counts a request.
    pub fn operation(&self, operation: Operation, took: Duration) {
        if let Some(families) = &self.0 {
            families.operation(operation, took);
        }
    }

    /// The counters of a tool. Both are empty for a call that reaches no plugin, and `tool` for one of something else.
    pub fn target(&self, plugin: &str, tool: &str) -> Target {
        Target(self.0.as_ref().map(|families| families.target(plugin, tool)))
    }

    /// Counts a call.
    pub fn called(&self, target: &Target, called: &Called) {
        if let (Some(families), Target(Some(target))) = (&self.0, target) {
            families.called(target, called);
        }
    }

    /// Counts something that is open.
    pub fn opened(&self, kind: OpenKind) -> Counted {
        Counted(self.0.clone().map(|families| {
            families.opened(kind, 1);
            (families, kind)
        }))
    }

    /// Counts a plugin's file that was looked at: whether it is in service, held or refused.
    pub fn reload(&self, result: &'static str, took: Option<Duration>) {
        if let Some(families) = &self.0 {
            families.reload(result, took);
        }
    }

    /// All metrics as text in the format of OpenMetrics 1.0, with what `sample` says is so at the moment.
    pub fn text(&self, sample: &Sample) -> String {
        self.0.as_ref().map(|families| families.text(sample)).unwrap_or_default()
    }
}

#[cfg(all(test, feature = "metrics"))]
mod tests;

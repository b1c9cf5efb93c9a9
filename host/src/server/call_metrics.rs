//! The metrics of one request to a plugin: counted once, however the request ends.

use std::sync::Arc;
use std::time::Duration;

use super::Server;
use super::scope::Scope;
use crate::metrics::{Called, Cost, Metrics, Target};

/// The request as it is known until now.
pub(in crate::server) struct CallMetrics {
    metrics: Metrics,
    target: Target,
    is_tool: bool,
    result: Option<&'static str>,
    is_fault: bool,
    received: u64,
    cost: Option<Arc<Cost>>,
}

impl CallMetrics {
    /// `None`: metrics are off.
    pub(in crate::server) fn begin(server: &Server, scope: &Scope, method: &str) -> Option<Self> {
        let metrics = &server.settings.metrics;
        metrics.is_on().then(|| Self {
            target: Target::default(),
            is_tool: method == "tools/call",
            result: None,
            is_fault: false,
            received: scope.bytes as u64,
            cost: scope.cost.clone(),
            metrics: metrics.clone(),
        })
    }

    /// The plugin that is called, and what of it: only names of tools are few enough for labels.
    pub(in crate::server) fn set_target(&mut self, plugin: &str, name: &str) {
        self.target = self.metrics.target(plugin, if self.is_tool { name } else { "" });
    }

    pub(in crate::server) fn set_result(&mut self, result: &'static str, is_fault: bool) {
        self.result = Some(result);
        self.is_fault |= is_fault;
    }

    /// Counts it; `result`: if none was set.
    pub(in crate::server) fn end(mut self, result: &'static str, sent: usize, took: Duration) {
        if self.target.is_none() {
            self.target = self.metrics.target("", "");
        }
        let called = Called {
            result: self.result.unwrap_or(result),
            is_fault: self.is_fault,
            took,
            received: self.received,
            sent: sent as u64,
            spent: self.cost.map(|cost| cost.spent()).unwrap_or_default(),
        };
        self.metrics.called(&self.target, &called);
    }
}

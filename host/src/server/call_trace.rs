//! The span of one request to a plugin: what is called, what became of it, and what it cost.

use std::sync::Arc;

use super::attribute;
use super::scope::Scope;
use crate::metrics::{Cost, NO_ERRORS};

/// Maximum characters of a name of a tool or prompt in that of a span.
const MAX_NAME: usize = 100;

/// The request as it is known until now.
pub(in crate::server) struct CallTrace {
    cost: Arc<Cost>,
    method: Box<str>,
}

impl CallTrace {
    /// `None`: its spans are not collected.
    pub(in crate::server) fn begin(scope: &Scope, method: &str) -> Option<Self> {
        let cost = scope.cost.as_ref().filter(|cost| cost.trace().is_some_and(|trace| trace.own().is_sampled))?;
        Some(Self { cost: cost.clone(), method: method.into() })
    }

    /// The plugin that is called, and what of it: only tools and prompts are few enough for the name of the span.
    pub(in crate::server) fn set_target(&self, plugin: &str, name: &str) {
        let Some(trace) = self.cost.trace() else { return };
        trace.describe(|| {
            let title = match &*self.method {
                "tools/call" | "prompts/get" => {
                    format!("{} {}", self.method, name.chars().take(MAX_NAME).collect::<String>())
                }
                _ => self.method.to_string(),
            };
            (title.into(), attribute::target(&self.method, plugin, name))
        });
    }

    /// What became of it, if that is an error.
    pub(in crate::server) fn set_result(&self, result: &'static str) {
        if let Some(trace) = self.cost.trace().filter(|_| !NO_ERRORS.contains(&result)) {
            trace.set_error(result);
        }
    }

    /// Adds what it cost.
    pub(in crate::server) fn end(self) {
        if let Some(trace) = self.cost.trace() {
            trace.add(attribute::cost(&self.cost.spent()));
        }
    }
}

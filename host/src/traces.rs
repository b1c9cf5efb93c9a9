//! What requests did and when, as spans for OpenTelemetry: collected while they run, and taken in batches by whoever
//! exports them.
//!
//! Knows neither plugins nor MCP: it is given names and values. A handle that is off collects nothing.

mod context;
mod ids;
mod queue;
mod sampler;
mod state;
mod trace;

use std::sync::Arc;

pub use context::TraceParent;
use ids::Ids;
pub use queue::{Batch, Queue};
pub use sampler::Sampler;
pub use state::TraceState;
pub use trace::{Attribute, Ended, MAX_SPANS, OpenSpan, Span, SpanId, Trace, Value};

/// The traces of a server. Cheap to clone; the default one is off.
#[derive(Clone, Default)]
pub struct Traces(Option<Arc<Collecting>>);

struct Collecting {
    sampler: Sampler,
    ids: Ids,
    queue: Arc<Queue>,
}

impl Traces {
    /// Collects from now on.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn on(sampler: Sampler, queue: Arc<Queue>) -> Result<Self, getrandom::Error> {
        Ok(Self(Some(Arc::new(Collecting { sampler, ids: Ids::new()?, queue }))))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Begins the trace of a request, as a part of that of its sender, if there is one. `None` if traces are off.
    /// `caller`: the key under which the room for traces that wait is shared.
    pub fn begin(&self, caller: &Arc<str>, parent: Option<&TraceParent>) -> Option<Arc<Trace>> {
        self.0.as_ref().map(|collecting| {
            let trace = parent.map_or_else(|| collecting.ids.trace(), |parent| parent.trace);
            let is_sampled = collecting.sampler.samples(parent, &trace);
            let state = parent.and_then(|parent| parent.state.clone());
            let own = TraceParent { trace, span: collecting.ids.span(), is_sampled, state };
            Arc::new(Trace::new(own, parent.map(|parent| parent.span), caller.clone(), collecting.clone()))
        })
    }
}

#[cfg(test)]
mod tests;

//! The measurement of one request of a client, from its admission to its answer: its metrics, and its own span.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Server;
use super::attribute;
use super::response::Response;
use crate::jsonrpc::{ErrorObject, Request};
use crate::metrics::{Metrics, NO_ERRORS, OTHER, Operation};
use crate::protocol::{Revision, methods};
use crate::traces::{Trace, TraceParent};

/// A request that is being answered. Dropped before its end, it counts as cancelled. Nothing if metrics and traces are
/// off.
pub(in crate::server) struct Measured(Option<Running>);

struct Running {
    metrics: Metrics,
    began: Instant,
    method: &'static str,
    revision: &'static str,
    trace: Option<Arc<Trace>>,
}

impl Measured {
    pub(in crate::server) fn begin(server: &Server, method: &str) -> Self {
        let (metrics, traces) = (&server.settings.metrics, &server.settings.traces);
        Self((metrics.is_on() || traces.is_on()).then(|| Running {
            metrics: metrics.clone(),
            began: Instant::now(),
            // Clients may send any.
            method: methods::known(method).unwrap_or(OTHER),
            revision: "",
            trace: None,
        }))
    }

    /// Begins its trace, if there are any.
    pub(in crate::server) fn begin_trace(
        &mut self,
        server: &Server,
        (caller, request): (&Arc<str>, &Request<'_>),
        parent: Option<&TraceParent>,
    ) -> Option<Arc<Trace>> {
        let running = self.0.as_mut()?;
        running.trace = server.settings.traces.begin(caller, parent);
        let trace = running.trace.as_ref()?;
        trace.describe(|| {
            let mut attributes = vec![attribute::method(running.method), attribute::request_id(&request.id)];
            attributes.extend((!running.revision.is_empty()).then(|| attribute::revision(running.revision)));
            (running.method.into(), attributes)
        });
        Some(trace.clone())
    }

    pub(in crate::server) fn set_revision(&mut self, revision: Revision) {
        if let Some(running) = &mut self.0 {
            running.revision = revision.as_str();
        }
    }

    pub(in crate::server) fn end(mut self, answer: &Response) {
        match answer {
            Ok(_) => self.end_as(""),
            Err(error) => self.refused(error),
        }
    }

    pub(in crate::server) fn refused(mut self, error: &ErrorObject) {
        if let Some(trace) = self.0.as_ref().and_then(|running| running.trace.as_ref()) {
            trace.add([attribute::error_code(error.code)]);
        }
        self.end_as(kind(error));
    }

    fn end_as(&mut self, error: &'static str) {
        if let Some(Running { metrics, began, method, revision, trace }) = self.0.take() {
            let took: Duration = began.elapsed();
            metrics.operation(Operation { method, revision, error }, took);
            if let Some(trace) = trace {
                if !error.is_empty() && !NO_ERRORS.contains(&error) {
                    trace.set_error(error);
                }
                trace.end();
            }
        }
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        self.end_as("cancelled");
    }
}

/// The label of an error: its code, if it is one that the host sends. Plugins' own methods may have any.
fn kind(error: &ErrorObject) -> &'static str {
    match error.code {
        -32700 => "-32700",
        -32600 => "-32600",
        -32601 => "-32601",
        -32602 => "-32602",
        -32603 => "-32603",
        -32002 => "-32002",
        -32003 => "-32003",
        -32020 => "-32020",
        -32021 => "-32021",
        -32022 => "-32022",
        _ => OTHER,
    }
}

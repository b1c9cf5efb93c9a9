//! The measurement of one request of a client, from its admission to its answer.

use std::time::{Duration, Instant};

use super::Server;
use super::response::Response;
use crate::jsonrpc::ErrorObject;
use crate::metrics::{Metrics, OTHER, Operation};
use crate::protocol::{Revision, methods};

/// A request that is being answered. Dropped before its end, it counts as cancelled. Nothing if metrics are off.
pub(in crate::server) struct Measured(Option<Running>);

struct Running {
    metrics: Metrics,
    began: Instant,
    method: &'static str,
    revision: &'static str,
}

impl Measured {
    pub(in crate::server) fn begin(server: &Server, method: &str) -> Self {
        let metrics = &server.settings.metrics;
        Self(metrics.is_on().then(|| Running {
            metrics: metrics.clone(),
            began: Instant::now(),
            // Clients may send any.
            method: methods::known(method).unwrap_or(OTHER),
            revision: "",
        }))
    }

    pub(in crate::server) fn set_revision(&mut self, revision: Revision) {
        if let Some(running) = &mut self.0 {
            running.revision = revision.as_str();
        }
    }

    pub(in crate::server) fn end(mut self, answer: &Response) {
        self.end_as(answer.as_ref().err().map_or("", kind));
    }

    pub(in crate::server) fn refused(mut self, error: &ErrorObject) {
        self.end_as(kind(error));
    }

    fn end_as(&mut self, error: &'static str) {
        if let Some(Running { metrics, began, method, revision }) = self.0.take() {
            let took: Duration = began.elapsed();
            metrics.operation(Operation { method, revision, error }, took);
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

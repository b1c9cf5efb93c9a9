//! What a request costs, for its sender: in the result's `_meta`, if the request's `_meta` asks for it.

use std::sync::Arc;

use super::Server;
use crate::json;
use crate::metrics::{Cost, Spent};
use crate::protocol::keys::COST;
use crate::traces::Trace;

/// Adds up the cost of a request, if the server or its sender wants to know it.
pub(in crate::server) fn begin(server: &Server, meta: &str, trace: Option<Arc<Trace>>) -> Option<Arc<Cost>> {
    let settings = &server.settings;
    let is_wanted = trace.is_some() || settings.metrics.is_on() || settings.audit.is_on() || is_asked(meta);
    is_wanted.then(|| Arc::new(Cost::of(trace)))
}

/// Whether that `_meta`, text of an object, asks for the cost.
fn is_asked(meta: &str) -> bool {
    // Most do not.
    memchr::memmem::find(meta.as_bytes(), COST.as_bytes()).is_some()
        && json::members(meta, [COST]).is_ok_and(|[value]| value.is_some_and(|value| value.get() == "true"))
}

/// What a request with that `_meta`, and so many bytes of params, has cost until now, as the value for its result; `None`
/// if its sender did not ask.
pub(in crate::server) fn asked(cost: Option<&Arc<Cost>>, meta: &str, received: usize) -> Option<String> {
    cost.filter(|_| is_asked(meta)).map(|cost| as_json(&cost.spent(), received))
}

/// Seconds and bytes.
fn as_json(spent: &Spent, received: usize) -> String {
    let Spent { cpu, queued, memory, upstream_requests, upstream } = spent;
    format!(
        r#"{{"cpuSeconds":{:?},"queueSeconds":{:?},"memoryBytes":{memory},"receivedBytes":{received},"upstreamRequests":{upstream_requests},"upstreamSeconds":{:?}}}"#,
        cpu.as_secs_f64(),
        queued.as_secs_f64(),
        upstream.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::is_asked;

    #[test]
    fn only_true_asks() {
        assert!(is_asked(r#"{"wharf/cost": true}"#));
        for meta in [
            "{}",
            r#"{"wharf/cost": 1}"#,
            r#"{"wharf/cost": false}"#,
            r#"{"a": "wharf/cost"}"#,
            r#"{"a": {"wharf/cost": true}}"#,
        ] {
            assert!(!is_asked(meta), "{meta}");
        }
    }
}

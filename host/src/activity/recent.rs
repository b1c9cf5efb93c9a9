//! The last records, each with a number, so that a reader knows how many it has missed.

use std::collections::VecDeque;
use std::time::UNIX_EPOCH;

use serde::Serialize;

use crate::audit::Record;

/// Records that are kept.
pub(super) const MAX_RECORDS: usize = 1000;
/// Bytes of all of them together.
pub(super) const MAX_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Recent {
    /// JSON objects in the order in which they came.
    texts: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The number of the next record.
    next: u64,
}

/// Some of the last records.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    /// The number after the last one of them.
    pub next: u64,
    /// Records that the reader does not get: they are gone, or too many came at once.
    pub skipped: u64,
    /// JSON objects, the oldest first.
    pub records: Vec<String>,
}

/// What is shown of a record. Its arguments and results are not kept.
#[derive(Serialize)]
struct Shown<'a> {
    /// Milliseconds since 1970.
    at: u64,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out_bytes: Option<u64>,
}

impl Recent {
    pub(super) fn push(&mut self, record: &Record) {
        self.next += 1;
        let mut text = Vec::new();
        while self.texts.len() >= MAX_RECORDS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.texts.pop_front() else { break };
            self.bytes -= oldest.len();
            // Its memory is used again.
            text = oldest;
            text.clear();
        }
        // Infallible: strings and numbers are written to memory.
        let _ = serde_json::to_writer(&mut text, &shown(record));
        self.bytes += text.len();
        self.texts.push_back(text);
    }

    pub(super) fn since(&self, from: u64, most: usize) -> Batch {
        let oldest = self.next - self.texts.len() as u64;
        let first = from.max(oldest).max(self.next.saturating_sub(most as u64)).min(self.next);
        let at = usize::try_from(first - oldest).unwrap_or(usize::MAX);
        let records = self.texts.iter().skip(at).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        Batch { next: self.next, skipped: first.saturating_sub(from), records }
    }
}

fn shown(record: &Record) -> Shown<'_> {
    let spent = record.spent.as_ref();
    let micros = |time: std::time::Duration| time.as_micros() as u64;
    Shown {
        at: record.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64,
        event: record.event.name(),
        plugin: record.plugin.as_deref(),
        tool: record.tool.as_deref(),
        method: record.method.as_deref(),
        principal: record.principal.as_deref(),
        via: record.via,
        peer: record.peer.as_deref(),
        rule: record.rule.as_deref(),
        code: record.code,
        access: record.access,
        reason: record.reason.as_deref(),
        task: record.task.as_deref(),
        trace: record.trace.as_deref(),
        took_us: record.took.map(micros),
        cpu_us: spent.map(|spent| micros(spent.cpu)),
        queue_us: spent.map(|spent| micros(spent.queued)),
        upstream_us: spent.map(|spent| micros(spent.upstream)),
        memory_bytes: spent.map(|spent| spent.memory),
        in_bytes: record.input.as_ref().map(|body| body.bytes),
        out_bytes: record.output.as_ref().map(|body| body.bytes),
    }
}

//! Many calls of one tool, written out before the clock runs and checked after it has stopped.
//! It does not send them.

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::contender::Contender;

/// A tool to call: what with, and what must come back.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    pub tool: fn(&Contender) -> &'static str,
    /// The arguments of the call with that id.
    pub arguments: fn(u64) -> Value,
    /// Whether that is the result of the call with that id.
    pub right: fn(u64, &Value) -> bool,
}

pub const ECHO: Workload = Workload {
    name: "echo",
    tool: Contender::echo,
    arguments: |id| json!({ "message": message(id) }),
    right: |id, result| result["content"][0]["text"] == message(id),
};

pub const ADD: Workload = Workload {
    name: "add (structured)",
    tool: Contender::add,
    arguments: |id| json!({ "a": id, "b": 1 }),
    right: |id, result| result["structuredContent"] == json!({ "sum": id + 1 }),
};

fn message(id: u64) -> String {
    format!("the quick brown fox jumps over lazy dog number {id}")
}

pub struct Batch {
    workload: Workload,
    first: u64,
    lines: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl Batch {
    /// So many calls, with ids from the first on.
    pub fn new(workload: Workload, contender: &Contender, first: u64, count: usize) -> Self {
        let (mut lines, mut ends) = (Vec::new(), Vec::with_capacity(count));
        for id in first..first + count as u64 {
            let params = json!({ "name": (workload.tool)(contender), "arguments": (workload.arguments)(id) });
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            lines.extend(format!("{call}\n").into_bytes());
            ends.push(lines.len());
        }
        Self { workload, first, lines, ends }
    }

    /// The workload's.
    pub fn name(&self) -> &'static str {
        self.workload.name
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Those calls, as they go over the wire.
    pub fn lines(&self, calls: Range<usize>) -> &[u8] {
        let end = |calls: usize| calls.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.lines[end(calls.start)..end(calls.end)]
    }

    /// Whether each call has its one answer, and the right one.
    pub fn check(&self, answers: &[u8]) -> Result<()> {
        let mut open = vec![true; self.count()];
        for line in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: Value = serde_json::from_slice(line).context("read an answer")?;
            let id = answer["id"].as_u64().with_context(|| format!("have only answers: {answer}"))?;
            let open = id.checked_sub(self.first).and_then(|nth| open.get_mut(nth as usize));
            let asked = open.is_some_and(std::mem::take);
            ensure!(asked, "have each call answered once: {answer}");
            ensure!((self.workload.right)(id, &answer["result"]), "have the right answer: {answer}");
        }
        let lost = open.into_iter().filter(|open| *open).count();
        ensure!(lost == 0, "have all calls answered: {lost} are not");
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! Many calls of one tool, serialised before the measurement and checked after it.

use std::ops::Range;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::contender::Contender;

/// A tool with its arguments and expected results.
#[derive(Clone, Copy)]
pub struct Workload {
    pub name: &'static str,
    pub tool: fn(&Contender) -> &'static str,
    /// The arguments of the call with that id.
    pub arguments: fn(u64) -> Value,
    /// Whether this is the expected result of the call with that id.
    pub is_expected: fn(u64, &Value) -> bool,
}

pub const ECHO: Workload = Workload {
    name: "echo",
    tool: Contender::echo,
    arguments: |id| json!({ "message": message(id) }),
    is_expected: |id, result| result["content"][0]["text"] == message(id),
};

pub const ADD: Workload = Workload {
    name: "add (structured)",
    tool: Contender::add,
    arguments: |id| json!({ "a": id, "b": 1 }),
    is_expected: |id, result| result["structuredContent"] == json!({ "sum": id + 1 }),
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
    /// `count` calls, with ids starting at `first`.
    pub fn new(workload: Workload, contender: &Contender, first: u64, count: usize) -> Self {
        Self::of(workload, first, count, |_| (workload.tool)(contender).to_owned())
    }

    /// Calls of the tools that `tool` names by their ids, each with the arguments and results of this workload.
    pub fn of(workload: Workload, first: u64, count: usize, tool: impl Fn(u64) -> String) -> Self {
        let (mut lines, mut ends) = (Vec::new(), Vec::with_capacity(count));
        for id in first..first + count as u64 {
            let params = json!({ "name": tool(id), "arguments": (workload.arguments)(id) });
            let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            lines.extend(format!("{call}\n").into_bytes());
            ends.push(lines.len());
        }
        Self { workload, first, lines, ends }
    }

    /// The workload's name.
    pub fn name(&self) -> &'static str {
        self.workload.name
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// These calls as newline-terminated JSON.
    pub fn lines(&self, calls: Range<usize>) -> &[u8] {
        let end = |calls: usize| calls.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.lines[end(calls.start)..end(calls.end)]
    }

    /// Checks that each call has exactly one answer, with the expected result.
    ///
    /// # Errors
    /// If an answer is missing, repeated, unexpected or wrong.
    pub fn check(&self, answers: &[u8]) -> Result<()> {
        let mut open = vec![true; self.count()];
        for line in answers.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let answer: Value = serde_json::from_slice(line).context("read an answer")?;
            let id = answer["id"].as_u64().with_context(|| format!("find the id of an answer: {answer}"))?;
            let open = id.checked_sub(self.first).and_then(|nth| open.get_mut(nth as usize));
            let was_open = open.is_some_and(std::mem::take);
            ensure!(was_open, "match an answer to one unanswered call: {answer}");
            ensure!((self.workload.is_expected)(id, &answer["result"]), "get the expected answer: {answer}");
        }
        let lost = open.into_iter().filter(|open| *open).count();
        ensure!(lost == 0, "get all answers: {lost} are missing");
        Ok(())
    }
}

#[cfg(test)]
mod tests;

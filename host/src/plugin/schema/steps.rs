//! The cost of validating a value: counted in advance, since a validation that has begun
//! cannot be interrupted.
//!
//! A step is a subschema applied to a value, a name looked up, sixteen bytes of a string read, or
//! similar: about 10 ns. The count descends value and schema together, as the validator
//! does, but never stops early where the validator may, so it is an upper bound. It
//! stops at the limit.

use serde_json::Value;

use super::plan::{Part, Plan};

/// Maximum depth of nested applications. Each takes up to 2.2 KiB of stack in a debug
/// build, so the maximum takes a third of a thread's 2 MiB.
pub(super) const MAX_DEPTH: u32 = 300;
/// Arrays of up to this many elements are compared pairwise.
const PAIRWISE: usize = 15;

/// A value, or the name of a member.
#[derive(Clone, Copy)]
enum Item<'a> {
    Value(&'a Value),
    Name(&'a str),
}

/// Why the count was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::plugin) enum TooMuch {
    Steps,
    Depth,
}

/// The cost of validating one value.
#[derive(Debug, Default, Clone, Copy)]
pub(in crate::plugin) struct Effort {
    pub(super) steps: u64,
    /// Maximum depth of nested applications.
    pub(super) depth: u32,
    /// Bytes of the reports if every keyword were violated.
    pub(super) report_bytes: u64,
}

/// Counts up to `limit`.
pub(super) fn count(plan: &Plan, value: &Value, limit: u64) -> Result<Effort, TooMuch> {
    let mut count = Count { plan, limit, effort: Effort::default(), depth: 0, path: 0 };
    count.apply(0, Item::Value(value))?;
    Ok(count.effort)
}

struct Count<'a> {
    plan: &'a Plan,
    limit: u64,
    effort: Effort,
    depth: u32,
    /// Bytes of the pointer to the current value.
    path: u64,
}

impl<'a> Count<'a> {
    fn take(&mut self, steps: u64) -> Result<(), TooMuch> {
        self.effort.steps = self.effort.steps.saturating_add(steps);
        if self.effort.steps > self.limit { Err(TooMuch::Steps) } else { Ok(()) }
    }

    fn deeper(&mut self, what: impl FnOnce(&mut Self) -> Result<(), TooMuch>) -> Result<(), TooMuch> {
        if self.depth == MAX_DEPTH {
            return Err(TooMuch::Depth);
        }
        self.depth += 1;
        self.effort.depth = self.effort.depth.max(self.depth);
        let done = what(self);
        self.depth -= 1;
        done
    }

    fn apply(&mut self, index: usize, item: Item<'_>) -> Result<(), TooMuch> {
        let plan: &'a Plan = self.plan;
        let part = &plan.parts[index];
        // The validator searches its stack for the same subschema and value.
        self.take(part.own + u64::from(self.depth) / 32)?;
        self.effort.report_bytes =
            self.effort.report_bytes.saturating_add(part.own * (REPORT_BYTES + self.path + plan.longest_pointer));
        self.deeper(|count| {
            count.check_value(part, item)?;
            for other in &part.in_place {
                count.apply(*other, item)?;
            }
            if let Item::Value(value) = item {
                count.apply_inside(part, value)?;
            }
            if part.has_unevaluated { count.evaluated(index, item) } else { Ok(()) }
        })
    }

    /// The checks of a subschema on a value itself.
    fn check_value(&mut self, part: &Part, item: Item<'_>) -> Result<(), TooMuch> {
        let text = match item {
            Item::Name(text) => Some(text),
            Item::Value(value) => value.as_str(),
        };
        let bytes = match item {
            Item::Value(Value::Number(number)) => number.as_str().len() as u64 / 4,
            _ => text.map_or(0, |text| text.len() as u64 / 16),
        };
        self.take(bytes.saturating_mul(part.reads) + part.constants)?;
        if let (Some(text), Some(pattern)) = (text, &part.pattern) {
            self.take(pattern.steps(text.len()))?;
        }
        if part.quadratic && text.is_some() {
            self.take(bytes.saturating_mul(bytes))?;
        }
        match item {
            // A comparison may traverse the whole value for each constant of its type.
            Item::Value(value @ (Value::Array(_) | Value::Object(_))) if part.constants > 0 => self.size(value, 1),
            Item::Value(Value::Array(elements)) if part.unique => {
                let times = if elements.len() <= PAIRWISE { elements.len() as u64 } else { 8 };
                elements.iter().try_for_each(|element| self.size(element, times))
            }
            _ => Ok(()),
        }
    }

    /// Steps for traversing a value that many times.
    fn size(&mut self, value: &Value, times: u64) -> Result<(), TooMuch> {
        match value {
            Value::Null | Value::Bool(_) => self.take(times),
            Value::Number(number) => self.take(times.saturating_mul(2 + number.as_str().len() as u64 / 4)),
            Value::String(text) => self.take(times.saturating_mul(2 + text.len() as u64 / 16)),
            Value::Array(elements) => {
                self.take(times)?;
                elements.iter().try_for_each(|element| self.size(element, times))
            }
            Value::Object(members) => {
                self.take(times)?;
                members.iter().try_for_each(|(name, value)| {
                    self.take(times.saturating_mul(4 + name.len() as u64 / 16))?;
                    self.size(value, times)
                })
            }
        }
    }

    fn apply_inside(&mut self, part: &Part, value: &Value) -> Result<(), TooMuch> {
        match value {
            Value::Array(elements) => {
                let all = part.items.len() + part.unevaluated.len() > 0;
                let checked = if all { elements.len() } else { part.prefix_items.len().min(elements.len()) };
                self.path += 8;
                for (index, element) in elements[..checked].iter().enumerate() {
                    for other in part.prefix_items.get(index).into_iter().chain(&part.items).chain(&part.unevaluated) {
                        self.apply(*other, Item::Value(element))?;
                    }
                }
                self.path -= 8;
            }
            Value::Object(members) => {
                for (name, value) in members {
                    let path = name.len() as u64 + 1;
                    self.path += path;
                    self.member(part, name, value)?;
                    self.path -= path;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn member(&mut self, part: &Part, name: &str, value: &Value) -> Result<(), TooMuch> {
        self.take(1 + name.len() as u64 / 16)?;
        if let Some(names) = part.property_names {
            self.apply(names, Item::Name(name))?;
        }
        let own = part.properties.get(name);
        if let Some(own) = own {
            self.apply(*own, Item::Value(value))?;
        }
        for (pattern, other) in &part.by_pattern {
            // Some keywords look up the name once more.
            self.take(2 * pattern.steps(name.len()))?;
            self.apply(*other, Item::Value(value))?;
        }
        if own.is_none() {
            part.additional
                .iter()
                .chain(&part.unevaluated)
                .try_for_each(|other| self.apply(*other, Item::Value(value)))?;
        }
        Ok(())
    }

    /// To find unevaluated parts, the validator applies all subschemas of the value again, at each
    /// level.
    fn evaluated(&mut self, index: usize, item: Item<'_>) -> Result<(), TooMuch> {
        let plan: &'a Plan = self.plan;
        let part = &plan.parts[index];
        self.take(part.own)?;
        self.deeper(|count| {
            match item {
                Item::Value(Value::Object(members)) => {
                    for (name, value) in members {
                        count.take(2 + name.len() as u64 / 8)?;
                        for (pattern, _) in &part.by_pattern {
                            count.take(pattern.steps(name.len()))?;
                        }
                        part.unevaluated.iter().try_for_each(|other| count.apply(*other, Item::Value(value)))?;
                    }
                }
                Item::Value(Value::Array(elements)) => {
                    for element in elements {
                        count.take(1)?;
                        part.unevaluated.iter().try_for_each(|other| count.apply(*other, Item::Value(element)))?;
                    }
                }
                _ => {}
            }
            for other in &part.in_place {
                count.apply(*other, item)?;
                count.evaluated(*other, item)?;
            }
            Ok(())
        })
    }
}

/// Bytes of a report in addition to its pointers.
const REPORT_BYTES: u64 = 256;

#[cfg(test)]
mod tests;

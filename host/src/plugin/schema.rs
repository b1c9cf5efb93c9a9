//! JSON Schemas of guests: compiled once, bounded, and without any way to the network.
//!
//! Draft 2020-12, or draft-07 if `$schema` names it. The cost of compiling a schema is estimated
//! in `bounds` and `plan`, that of validating a value in `steps`, both in advance.

pub(in crate::plugin) mod allowance;
mod bounds;
mod explain;
pub(in crate::plugin) mod forms;
mod mirror;
pub(in crate::plugin) mod pattern;
mod plan;
mod steps;
mod wrap;

use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::text;
use allowance::Allowance;
use explain::Explanation;
use plan::Plan;
use steps::{Effort, TooMuch};

pub use mirror::Mirrored;
pub(in crate::plugin) use mirror::mirrored;
pub use wrap::Wrapping;

/// Bytes of one schema's text.
pub const MAX_SIZE: usize = 64 << 10;
/// Maximum steps of a validation: about 50 ms.
pub const MAX_STEPS: u64 = 4_000_000;
/// Steps of a validation that takes no longer than moving to another thread: about 20 µs.
pub(in crate::plugin) const FEW_STEPS: u64 = 2_000;
/// Maximum violations reported per value.
const MAX_VIOLATIONS: usize = 8;
/// Maximum bytes of a violation's reason, and of its part of the schema.
const MAX_REASON: usize = 300;
/// Maximum bytes of a violation's pointer.
const MAX_POINTER: usize = 1 << 10;
/// Maximum bytes of all reports of one validation: the validator makes all, even if few are returned.
const MAX_REPORTS: u64 = 16 << 20;

/// A compiled schema. Clones share it.
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    source: Value,
    plan: Plan,
    validator: Validator,
}

/// A violation of a schema by a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the root.
    pub path: String,
    /// One line for people and models, without the value.
    pub reason: String,
    /// The violated part of the schema, JSON text, truncated if long.
    pub expected: String,
}

impl Schema {
    /// Compiles a single schema.
    ///
    /// # Errors
    /// Why it is invalid, or too large: a fragment for people.
    pub fn compile(json: &str) -> Result<Self, String> {
        Self::compile_within(json, &mut Allowance::new())
    }

    /// Compiles one of several schemas.
    ///
    /// # Errors
    /// As [`Schema::compile`], and if the allowance is used up.
    pub(in crate::plugin) fn compile_within(json: &str, allowance: &mut Allowance) -> Result<Self, String> {
        if json.len() > MAX_SIZE {
            return Err(format!("the schema has more than {MAX_SIZE} bytes"));
        }
        let source = super::json::tree(json).map_err(|why| format!("the schema is {why}"))?;
        let draft = draft(&source)?;
        bounds::check(&source, allowance)?;
        let plan = Plan::of(&source, allowance)?;
        // Not the default engine: its backtracking can take exponential time.
        let patterns = PatternOptions::regex().size_limit(pattern::MAX_SIZE).dfa_size_limit(pattern::DFA_CACHE);
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            .with_pattern_options(patterns)
            .with_content_media_type("application/json", |text| super::json::one_line(text).is_ok())
            .build(&source)
            .map_err(|error| text::quote(&error.masked().to_string(), MAX_REASON))?;
        Ok(Self(Arc::new(Compiled { source, plan, validator })))
    }

    /// The source of the schema, parsed.
    pub fn source(&self) -> &Value {
        &self.0.source
    }

    /// Validates a value.
    ///
    /// # Errors
    /// Up to eight violations, in the schema's order; or one, if validation would take too long.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let effort = self.effort(value, MAX_STEPS).map_err(|too_much| vec![Violation::unchecked(too_much)])?;
        self.validate_with(value, effort)
    }

    /// The effort of validating a value; `None` if it is more than [`FEW_STEPS`].
    pub(in crate::plugin) fn few_steps(&self, value: &Value) -> Option<Effort> {
        self.effort(value, FEW_STEPS).ok()
    }

    fn effort(&self, value: &Value, limit: u64) -> Result<Effort, TooMuch> {
        steps::count(&self.0.plan, value, limit)
    }

    /// Validates a value whose effort is known.
    pub(in crate::plugin) fn validate_with(&self, value: &Value, effort: Effort) -> Result<(), Vec<Violation>> {
        let Compiled { plan, validator, .. } = &*self.0;
        if validator.is_valid(value) {
            return Ok(());
        }
        // To report errors, the validator checks nested branches again at each level.
        let again = effort.steps.saturating_mul(u64::from(effort.depth));
        if effort.report_bytes <= MAX_REPORTS && again <= MAX_STEPS {
            let found = validator.iter_errors(value).take(MAX_VIOLATIONS);
            return Err(found.map(|error| self.violation(&error)).collect());
        }
        let first = if plan.reports_branches { None } else { validator.validate(value).err() };
        Err(vec![first.map_or_else(Violation::unlocated, |error| self.violation(&error))])
    }

    /// JSON Pointers to all parts of a value that violate it; none if validation would take too long.
    pub(in crate::plugin) fn violated(&self, value: &Value) -> Vec<String> {
        if self.effort(value, MAX_STEPS).is_err() {
            return Vec::new();
        }
        self.0.validator.iter_errors(value).map(|error| error.instance_path().to_string()).collect()
    }

    /// Validates a text that is known to be JSON.
    ///
    /// # Errors
    /// As [`Schema::validate`]; a text that is not JSON is one violation.
    pub fn validate_text(&self, json: &str) -> Result<(), Vec<Violation>> {
        self.validate(&tree(json)?)
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let place = error.schema_path().to_string();
        let keyword = place.rsplit('/').next().unwrap_or_default();
        let explained = Explanation::of(error, &self.0.source, &place);
        let (reason, expected) = explained.map_or((None, None), |said| (Some(said.reason), said.expected));
        let part = || {
            let name = Value::from(keyword);
            self.0.source.pointer(&place).map(|part| format!("{{{name}:{part}}}"))
        };
        let expected = expected.map(|part| part.to_string()).or_else(part);
        Violation {
            path: text::prefix(error.instance_path().as_str(), MAX_POINTER).to_owned(),
            reason: match (reason, error.kind(), keyword) {
                (Some(reason), ..) => reason,
                (None, ValidationErrorKind::FalseSchema, "additionalProperties") => "no members are allowed".into(),
                _ => text::quote(&error.masked().to_string(), MAX_REASON),
            },
            expected: expected.map(|part| text::quote(&part, MAX_REASON)).unwrap_or_default(),
        }
    }
}

impl Violation {
    fn whole(reason: String) -> Self {
        Self { path: String::new(), reason, expected: String::new() }
    }

    /// For a value that is not validated.
    fn unchecked(why: TooMuch) -> Self {
        Self::whole(match why {
            TooMuch::Steps => format!(
                "validating it would take more than {MAX_STEPS} steps: its values and texts, times the subschemas and patterns that apply to them"
            ),
            TooMuch::Depth => "it is nested more deeply than this recursive schema can be validated".into(),
        })
    }

    /// For a text that is not parsed.
    pub(in crate::plugin) fn too_many_values(limit: usize) -> Self {
        Self::whole(format!("it has more than {limit} values"))
    }

    /// For a value too large for a detailed report.
    fn unlocated() -> Self {
        Self::whole("it does not satisfy the schema; it is too large to report where".into())
    }
}

/// Parses a text.
pub(in crate::plugin) fn tree(json: &str) -> Result<Value, Vec<Violation>> {
    crate::json::tree(json, crate::json::MAX_DEPTH)
        .map_err(|error| vec![Violation::whole(format!("not valid JSON: {error}"))])
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Schema({})", self.0.source)
    }
}

fn draft(schema: &Value) -> Result<Draft, String> {
    let Some(named) = schema.get("$schema") else {
        return Ok(Draft::Draft202012);
    };
    let name = named.as_str().unwrap_or_default();
    match name.trim_end_matches('#') {
        "https://json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        _ => Err(format!("its $schema is neither draft 2020-12 nor draft-07: {}", text::quote(name, 120))),
    }
}

#[cfg(test)]
mod tests;

//! JSON Schemas of guests: compiled once, bounded, and without any way to the network.
//!
//! Draft 2020-12, or draft-07 where `$schema` says so. Bounds on size and on expansion are
//! in `bounds`.

mod bounds;
mod mirror;
mod wrap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::text;

pub use mirror::Mirrored;
pub(super) use mirror::mirrored;
pub use wrap::Wrapping;

/// Bytes of one schema's text.
pub const MAX_SIZE: usize = 64 << 10;
/// Bytes of one compiled pattern.
const PATTERN: usize = 1 << 20;
/// Violations that are reported of one value.
const REPORTED: usize = 8;
/// Bytes of a reason or of the schema part in a report.
const REPORT: usize = 300;

/// A compiled schema.
pub struct Schema {
    source: Value,
    validator: Validator,
    max_depth: Option<usize>,
}

/// One way in which a value does not satisfy a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value; empty for the whole.
    pub path: String,
    /// One line for people and models. It does not repeat the value.
    pub reason: String,
    /// The part of the schema that is not satisfied, JSON text, cut if long.
    pub expected: String,
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// Why it is no schema, or too much of one: a fragment for people.
    pub fn compile(json: &str) -> Result<Self, String> {
        if json.len() > MAX_SIZE {
            return Err(format!("the schema has more than {MAX_SIZE} bytes"));
        }
        let source = super::json::tree(json).map_err(|why| format!("the schema is {why}"))?;
        let draft = draft(&source)?;
        let max_depth = bounds::check(&source)?;
        let validator = jsonschema::options()
            .with_draft(draft)
            .offline()
            // Not the default engine: its backtracking can be made to take for ever.
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN).dfa_size_limit(PATTERN))
            .build(&source)
            .map_err(|error| text::quote(&error.masked().to_string(), REPORT))?;
        Ok(Self { source, validator, max_depth })
    }

    /// The schema as it was written, parsed.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Up to eight violations, in the schema's order.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        if self.max_depth.is_some_and(|max| bounds::depth(value) > max) {
            return Err(vec![Violation {
                path: String::new(),
                reason: "nested deeper than this recursive schema can be checked".into(),
                expected: String::new(),
            }]);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let found = self.validator.iter_errors(value).take(REPORTED);
        Err(found.map(|error| self.violation(&error)).collect())
    }

    /// Checks a text that is known to be JSON.
    ///
    /// # Errors
    /// As [`Schema::validate`]; a text that is not JSON is one violation.
    pub fn validate_text(&self, json: &str) -> Result<(), Vec<Violation>> {
        match crate::json::tree(json, crate::json::MAX_DEPTH) {
            Ok(value) => self.validate(&value),
            Err(error) => Err(vec![Violation {
                path: String::new(),
                reason: format!("not valid JSON: {error}"),
                expected: String::new(),
            }]),
        }
    }

    fn violation(&self, error: &ValidationError<'_>) -> Violation {
        let place = error.schema_path().to_string();
        let keyword = place.rsplit('/').next().unwrap_or_default();
        let expected = self.source.pointer(&place).map(|part| {
            let name = Value::from(keyword);
            text::quote(&format!("{{{name}:{part}}}"), REPORT)
        });
        Violation {
            path: error.instance_path().to_string(),
            reason: match (error.kind(), keyword) {
                (ValidationErrorKind::FalseSchema, "additionalProperties") => "it takes no members".into(),
                _ => text::quote(&error.masked().to_string(), REPORT),
            },
            expected: expected.unwrap_or_default(),
        }
    }
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Schema({})", self.source)
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

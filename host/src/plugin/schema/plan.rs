//! A model of the validator's work: for each subschema, what it checks and which others it applies,
//! to the same value or to parts of it.
//!
//! Used by `steps`; validates nothing.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::allowance::Allowance;
use super::bounds::target;
use super::pattern::PatternCost;

/// All subschemas; the first one is the root.
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    /// Bytes of the longest pointer into the schema in a report.
    pub(super) longest_pointer: u64,
    /// Whether the report of one violation contains those of all branches.
    pub(super) reports_branches: bool,
}

/// A subschema. Others are referred to by their index in the plan.
#[derive(Default)]
pub(super) struct Part {
    /// Steps for a value of any type.
    pub(super) own: u64,
    /// Steps to compare a value with all constants, in addition to those for its text.
    pub(super) constants: u64,
    /// How often a string or number is read to its end.
    pub(super) reads: u64,
    /// Whether reading a string takes quadratic time.
    pub(super) quadratic: bool,
    pub(super) unique: bool,
    pub(super) pattern: Option<PatternCost>,
    /// In-place applicators: applied to the same value, such as `$ref` and `allOf`.
    pub(super) in_place: Vec<usize>,
    pub(super) properties: HashMap<String, usize>,
    pub(super) by_pattern: Vec<(PatternCost, usize)>,
    pub(super) property_names: Option<usize>,
    /// Applied to additional members.
    pub(super) additional: Vec<usize>,
    pub(super) prefix_items: Vec<usize>,
    pub(super) items: Vec<usize>,
    /// Applied to unevaluated parts; `contains` too, since the items that match it count as evaluated.
    pub(super) unevaluated: Vec<usize>,
    pub(super) has_unevaluated: bool,
}

impl Plan {
    /// `root` has passed the check of `bounds`.
    ///
    /// # Errors
    /// Why a pattern is invalid, or too large: a fragment for people.
    pub(super) fn of(root: &Value, allowance: &mut Allowance) -> Result<Self, String> {
        let plan = Self { parts: Vec::new(), longest_pointer: 0, reports_branches: false };
        let mut planner =
            Planner { root, allowance, plan, known: HashMap::new(), patterns: HashMap::new(), pointer: 0 };
        planner.part(root)?;
        Ok(planner.plan)
    }
}

struct Planner<'a, 'b> {
    root: &'a Value,
    allowance: &'b mut Allowance,
    plan: Plan,
    known: HashMap<*const Value, usize>,
    patterns: HashMap<&'a str, PatternCost>,
    /// Bytes of the pointer to the current subschema.
    pointer: u64,
}

impl<'a> Planner<'a, '_> {
    fn part(&mut self, schema: &'a Value) -> Result<usize, String> {
        let address = std::ptr::from_ref(schema);
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        let index = self.plan.parts.len();
        self.known.insert(address, index);
        self.plan.parts.push(Part::default());
        let members = schema.as_object();
        let mut part = Part { own: 1 + members.map_or(0, Map::len) as u64, ..Part::default() };
        for (keyword, value) in members.into_iter().flatten() {
            self.pointer += keyword.len() as u64 + 1;
            self.plan.longest_pointer = self.plan.longest_pointer.max(self.pointer);
            self.keyword(&mut part, keyword, value)?;
            self.pointer -= keyword.len() as u64 + 1;
        }
        self.plan.parts[index] = part;
        Ok(index)
    }

    fn keyword(&mut self, part: &mut Part, keyword: &str, value: &'a Value) -> Result<(), String> {
        match keyword {
            "$ref" => part.in_place.push(self.part(target(self.root, value)?.1)?),
            "allOf" | "anyOf" | "oneOf" => {
                self.plan.reports_branches |= keyword != "allOf";
                part.in_place.extend(self.each(value)?);
            }
            "not" | "if" | "then" | "else" => part.in_place.push(self.part(value)?),
            "dependentSchemas" => part.in_place.extend(self.named(value)?.into_iter().map(|(_, schema)| schema)),
            "dependencies" => self.dependencies(part, value)?,
            "required" => part.own += value.as_array().map_or(0, Vec::len) as u64,
            "dependentRequired" => part.own += lists(value),
            "properties" => {
                let named = self.named(value)?;
                // With more properties, the validator looks up the value's members instead.
                part.own += named.len().min(15) as u64;
                part.properties.extend(named.into_iter().map(|(name, schema)| (name.clone(), schema)));
            }
            "patternProperties" => {
                for (pattern, schema) in self.named(value)? {
                    let cost = self.cost(pattern)?;
                    part.by_pattern.push((cost, schema));
                }
            }
            "propertyNames" => part.property_names = Some(self.part(value)?),
            "additionalProperties" => part.additional.push(self.part(value)?),
            "unevaluatedProperties" | "unevaluatedItems" => {
                part.has_unevaluated = true;
                part.unevaluated.push(self.part(value)?);
            }
            "prefixItems" => part.prefix_items.extend(self.each(value)?),
            "items" if value.is_array() => part.prefix_items.extend(self.each(value)?),
            "items" | "additionalItems" => part.items.push(self.part(value)?),
            "contains" => part.unevaluated.push(self.part(value)?),
            "pattern" => part.pattern = value.as_str().map(|pattern| self.cost(pattern)).transpose()?,
            "enum" => {
                part.constants += value.as_array().into_iter().flatten().map(constant).sum::<u64>();
                part.reads += 1;
            }
            "const" => {
                part.constants += constant(value);
                part.reads += 1;
            }
            "uniqueItems" => part.unique = value == &Value::Bool(true),
            // Only draft-07 asserts `format`.
            "format" => {
                part.reads += 8;
                part.quadratic |= value == "regex";
            }
            "contentMediaType" | "contentEncoding" => part.reads += 32,
            // A number is stored as its digits, and parsed each time.
            _ => part.reads += 1,
        }
        Ok(())
    }

    fn at(&mut self, name: &str, schema: &'a Value) -> Result<usize, String> {
        self.pointer += name.len() as u64 + 1;
        let part = self.part(schema);
        self.pointer -= name.len() as u64 + 1;
        part
    }

    fn each(&mut self, schemas: &'a Value) -> Result<Vec<usize>, String> {
        schemas.as_array().into_iter().flatten().map(|schema| self.at("0000", schema)).collect()
    }

    fn named(&mut self, schemas: &'a Value) -> Result<Vec<(&'a String, usize)>, String> {
        let schemas = schemas.as_object().into_iter().flatten();
        schemas.map(|(name, schema)| Ok((name, self.at(name, schema)?))).collect()
    }

    fn dependencies(&mut self, part: &mut Part, value: &'a Value) -> Result<(), String> {
        part.own += lists(value);
        for (name, schema) in value.as_object().into_iter().flatten().filter(|(_, schema)| !schema.is_array()) {
            part.in_place.push(self.at(name, schema)?);
        }
        Ok(())
    }

    /// The cost of a pattern, computed once for a schema.
    fn cost(&mut self, pattern: &'a str) -> Result<PatternCost, String> {
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(*known);
        }
        let cost = PatternCost::of_schema(pattern, self.allowance.bytes())?;
        self.allowance.take_pattern(&cost)?;
        self.patterns.insert(pattern, cost);
        Ok(cost)
    }
}

/// The names in the lists of an object, plus the lists.
fn lists(value: &Value) -> u64 {
    let lists = value.as_object().into_iter().flat_map(|lists| lists.values());
    lists.map(|list| 1 + list.as_array().map_or(0, Vec::len) as u64).sum()
}

/// Steps to compare a value with a constant: its values, and bytes of its strings.
fn constant(value: &Value) -> u64 {
    1 + match value {
        Value::String(text) => text.len() as u64 / 16,
        Value::Number(number) => number.as_str().len() as u64 / 4,
        Value::Array(elements) => elements.iter().map(constant).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| 4 + name.len() as u64 / 16 + constant(value)).sum()
        }
        _ => 0,
    }
}

//! How much work a schema can make: counted before it is compiled, references followed.
//!
//! A schema of two kilobytes can refer to itself twice at each of 26 levels and take
//! seconds to check a single number. So the subschemas are counted as often as they would
//! be applied. Recursion must go down into the value at each turn; where it does so more
//! than once at the same place, it doubles with each level, and the value's depth is
//! bounded instead.

use serde_json::Value;

const MAX_APPLIED: usize = 10_000;
const MAX_NESTED: usize = 32;
const MAX_RECURSIONS: usize = 256;
/// Subschemas that the recursion at one place may come to.
const MAX_DOUBLED: usize = 100_000;

/// Refuses a schema that is not an object or boolean, that refers outside of itself, or
/// that is too much work. The answer is how deep a value may be, where that matters.
pub(super) fn check(root: &Value) -> Result<Option<usize>, String> {
    let mut walk = Walk { root, applied: 0, open: Vec::new(), place: Vec::new(), recursions: Vec::new() };
    walk.schema(root, 0)?;
    let branches = walk.branches();
    // How often `branches` can be multiplied before it is too much.
    Ok((branches > 1).then(|| MAX_DOUBLED.ilog(branches) as usize))
}

/// How deep a value nests; a number has depth 0.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A step from a value to a part of it.
#[derive(Clone, PartialEq)]
enum Step<'a> {
    Member(&'a str),
    /// Any member: `additionalProperties` and the like.
    Members,
    /// Any element.
    Elements,
}

impl Step<'_> {
    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Step::Member(a), Step::Member(b)) => a == b,
            (Step::Elements, Step::Elements) => true,
            (Step::Elements, _) | (_, Step::Elements) => false,
            _ => true,
        }
    }
}

struct Walk<'a> {
    root: &'a Value,
    applied: usize,
    /// References that are being followed, and how deep in the value each began.
    open: Vec<(&'a str, usize)>,
    /// Where in the value the current subschema applies.
    place: Vec<Step<'a>>,
    /// Where in the value the schema begins anew.
    recursions: Vec<Vec<Step<'a>>>,
}

impl<'a> Walk<'a> {
    fn schema(&mut self, schema: &'a Value, nested: usize) -> Result<(), String> {
        self.applied += 1;
        if self.applied > MAX_APPLIED {
            return Err(format!("it applies more than {MAX_APPLIED} subschemas"));
        }
        if nested > MAX_NESTED {
            return Err(format!("it nests more than {MAX_NESTED} subschemas"));
        }
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            _ => return Err("a schema must be an object".into()),
        };
        for (keyword, value) in members {
            self.keyword(keyword, value, nested)?;
        }
        Ok(())
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value, nested: usize) -> Result<(), String> {
        match keyword {
            "$ref" => self.reference(value, nested),
            "$dynamicRef" | "$recursiveRef" | "$dynamicAnchor" | "$recursiveAnchor" => {
                Err(format!("{keyword} is not supported"))
            }
            "$id" if nested > 0 => Err("an embedded $id is not supported".into()),
            "allOf" | "anyOf" | "oneOf" => self.each(value, None, nested),
            "not" | "if" | "then" | "else" => self.schema(value, nested + 1),
            "dependentSchemas" => self.named(value, |_| None, nested),
            "dependencies" => self.dependencies(value, nested),
            "properties" => self.named(value, |name| Some(Step::Member(name)), nested),
            "patternProperties" => self.named(value, |_| Some(Step::Members), nested),
            "additionalProperties" | "unevaluatedProperties" | "propertyNames" => {
                self.inside(Step::Members, value, nested)
            }
            "items" if value.is_array() => self.each(value, Some(Step::Elements), nested),
            "prefixItems" => self.each(value, Some(Step::Elements), nested),
            "items" | "additionalItems" | "unevaluatedItems" | "contains" => self.inside(Step::Elements, value, nested),
            _ => Ok(()),
        }
    }

    fn inside(&mut self, step: Step<'a>, schema: &'a Value, nested: usize) -> Result<(), String> {
        self.place.push(step);
        let checked = self.schema(schema, nested + 1);
        self.place.pop();
        checked
    }

    fn each(&mut self, schemas: &'a Value, step: Option<Step<'a>>, nested: usize) -> Result<(), String> {
        for schema in schemas.as_array().into_iter().flatten() {
            match &step {
                Some(step) => self.inside(step.clone(), schema, nested)?,
                None => self.schema(schema, nested + 1)?,
            }
        }
        Ok(())
    }

    fn named(
        &mut self,
        schemas: &'a Value,
        step: impl Fn(&'a str) -> Option<Step<'a>>,
        nested: usize,
    ) -> Result<(), String> {
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            match step(name) {
                Some(step) => self.inside(step, schema, nested)?,
                None => self.schema(schema, nested + 1)?,
            }
        }
        Ok(())
    }

    /// Of draft-07: a schema or a list of names.
    fn dependencies(&mut self, value: &'a Value, nested: usize) -> Result<(), String> {
        for schema in value.as_object().into_iter().flat_map(|members| members.values()) {
            if !schema.is_array() {
                self.schema(schema, nested + 1)?;
            }
        }
        Ok(())
    }

    fn reference(&mut self, value: &'a Value, nested: usize) -> Result<(), String> {
        let name = value.as_str().ok_or("a $ref must be a string")?;
        let shown = || crate::plugin::text::quote(name, 120);
        let pointer = name
            .strip_prefix('#')
            .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
            .ok_or_else(|| format!("it refers outside of itself: {}", shown()))?;
        let target =
            self.root.pointer(pointer).ok_or_else(|| format!("it refers to what is not there: {}", shown()))?;
        // The root is open from the start, though nothing refers to it.
        let began = match self.open.iter().find(|(open, _)| *open == pointer) {
            Some((_, depth)) => Some(*depth),
            None if pointer.is_empty() => Some(0),
            None => None,
        };
        if let Some(began) = began {
            if began == self.place.len() {
                return Err(format!("it refers to itself for the same value: {}", shown()));
            }
            return self.recursion();
        }
        self.open.push((pointer, self.place.len()));
        let checked = self.schema(target, nested + 1);
        self.open.pop();
        checked
    }

    fn recursion(&mut self) -> Result<(), String> {
        if self.recursions.len() == MAX_RECURSIONS {
            return Err(format!("it refers to itself more than {MAX_RECURSIONS} times"));
        }
        self.recursions.push(self.place.clone());
        Ok(())
    }

    /// The most recursions that can meet at one place.
    fn branches(&self) -> usize {
        let meet = |a: &[Step<'a>], b: &[Step<'a>]| a.iter().zip(b).all(|(a, b)| a.overlaps(b));
        let all = &self.recursions;
        let met = |place: &Vec<Step<'a>>| all.iter().filter(|other| meet(place, other)).count();
        all.iter().map(met).max().unwrap_or(0)
    }
}

//! The size of a schema with its references expanded, counted before it is compiled.
//!
//! A schema of two kilobytes can refer to itself twice at each of 26 levels. The compiler and the
//! validator expand each reference, so subschemas are counted as often as they are reached.
//! Recursion must descend into the value at each level; its depth depends on the value, and is
//! counted in `steps`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::allowance::Allowance;

const MAX_APPLIED: usize = 10_000;
const MAX_NESTED: usize = 32;
/// Bytes of a compiled subschema, and of each of its keywords; measured, and rounded up. Each
/// keyword also stores its JSON Pointer.
const SUBSCHEMA: usize = 256;
const KEYWORD: usize = 384;
/// Bytes of one value in a tree, with the allocator's overhead.
const VALUE: usize = 128;
/// How often a compiled schema holds a constant.
const COPIES: usize = 3;

/// Rejects a schema that is not an object or boolean, that has references to other documents, or
/// that is too large.
pub(super) fn check(root: &Value, allowance: &mut Allowance) -> Result<(), String> {
    let mut walk = Walk { root, allowance, applied: 0, open: Vec::new(), place: 0, pointer: 0, sizes: HashMap::new() };
    walk.schema(root, 0)
}

/// The target of a `$ref`: its name, and the part of the schema.
pub(super) fn target<'a>(root: &'a Value, reference: &Value) -> Result<(String, &'a Value), String> {
    let name = reference.as_str().ok_or("a $ref must be a string")?;
    let shown = || crate::text::quote(name, 120);
    let pointer = name
        .strip_prefix('#')
        .and_then(unescaped)
        .filter(|pointer| pointer.is_empty() || pointer.starts_with('/'))
        .ok_or_else(|| format!("a $ref leads outside the schema: {}", shown()))?;
    let target = root.pointer(&pointer).ok_or_else(|| format!("a $ref has no target: {}", shown()))?;
    Ok((pointer.into_owned(), target))
}

/// Decodes a fragment. `None` for one that encodes separators or escapes, which is ambiguous.
fn unescaped(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            let byte = u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
            if matches!(byte, b'/' | b'~' | b'%') {
                return None;
            }
            bytes.push(byte);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

struct Walk<'a, 'b> {
    root: &'a Value,
    allowance: &'b mut Allowance,
    applied: usize,
    /// References on the current path, each with its depth in the value.
    open: Vec<(String, usize)>,
    /// Depth in the value at which the current subschema applies.
    place: usize,
    /// Bytes of the pointer to the current subschema.
    pointer: usize,
    /// The size of a subschema's own keywords, by its address.
    sizes: HashMap<*const Map<String, Value>, usize>,
}

impl<'a> Walk<'a, '_> {
    fn schema(&mut self, schema: &'a Value, nested: usize) -> Result<(), String> {
        let members = match schema {
            Value::Bool(_) => return self.applies(SUBSCHEMA + self.pointer, nested),
            Value::Object(members) => members,
            _ => return Err("a schema must be an object".into()),
        };
        let own = *self.sizes.entry(std::ptr::from_ref(members)).or_insert_with(|| own_size(members));
        self.applies(SUBSCHEMA + own + members.len() * (KEYWORD + self.pointer), nested)?;
        for (keyword, value) in members {
            self.keyword(keyword, value, nested)?;
        }
        if members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems") {
            self.evaluated(members, nested)?;
        }
        Ok(())
    }

    fn applies(&mut self, bytes: usize, nested: usize) -> Result<(), String> {
        self.applied += 1;
        if self.applied > MAX_APPLIED {
            return Err(format!("it applies more than {MAX_APPLIED} subschemas"));
        }
        if nested > MAX_NESTED {
            return Err(format!("it nests more than {MAX_NESTED} subschemas"));
        }
        self.allowance.take(bytes)
    }

    /// `unevaluated…` keywords apply all subschemas of the same location again, at each level.
    fn evaluated(&mut self, members: &'a Map<String, Value>, nested: usize) -> Result<(), String> {
        for (keyword, value) in members {
            match keyword.as_str() {
                "allOf" | "anyOf" | "oneOf" => {
                    value.as_array().into_iter().flatten().try_for_each(|schema| self.again(schema, nested))?;
                }
                "dependentSchemas" => {
                    let schemas = value.as_object().into_iter().flat_map(|schemas| schemas.values());
                    schemas.into_iter().try_for_each(|schema| self.again(schema, nested))?;
                }
                "if" | "then" | "else" => self.again(value, nested)?,
                "unevaluatedProperties" | "unevaluatedItems" | "additionalProperties" => {
                    self.at(keyword, value, true, nested)?;
                }
                "$ref" => {
                    let (pointer, target) = target(self.root, value)?;
                    if !pointer.is_empty() && self.open.iter().all(|(open, _)| *open != pointer) {
                        self.open.push((pointer, self.place));
                        let walked = self.again(target, nested);
                        self.open.pop();
                        walked?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn again(&mut self, schema: &'a Value, nested: usize) -> Result<(), String> {
        self.schema(schema, nested + 1)?;
        schema.as_object().map_or(Ok(()), |members| self.evaluated(members, nested + 1))
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value, nested: usize) -> Result<(), String> {
        match keyword {
            "$ref" => self.reference(value, nested),
            "$dynamicRef" | "$recursiveRef" | "$dynamicAnchor" | "$recursiveAnchor" => {
                Err(format!("{keyword} is not supported"))
            }
            "$id" if nested > 0 => Err("an embedded $id is not supported".into()),
            "allOf" | "anyOf" | "oneOf" => self.each(keyword, value, false, nested),
            "not" | "if" | "then" | "else" => self.at(keyword, value, false, nested),
            "dependentSchemas" => self.named(keyword, value, false, nested),
            "dependencies" => self.dependencies(value, nested),
            "properties" | "patternProperties" => self.named(keyword, value, true, nested),
            "prefixItems" => self.each(keyword, value, true, nested),
            "items" if value.is_array() => self.each(keyword, value, true, nested),
            "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
            | "items"
            | "additionalItems"
            | "unevaluatedItems"
            | "contains" => self.at(keyword, value, true, nested),
            _ => Ok(()),
        }
    }

    /// A subschema under a name in the current one; `inside`: it applies to a part of the value.
    fn at(&mut self, name: &str, schema: &'a Value, inside: bool, nested: usize) -> Result<(), String> {
        let deeper = usize::from(inside);
        self.place += deeper;
        self.pointer += name.len() + 1;
        let checked = self.schema(schema, nested + 1);
        self.pointer -= name.len() + 1;
        self.place -= deeper;
        checked
    }

    fn each(&mut self, keyword: &str, schemas: &'a Value, inside: bool, nested: usize) -> Result<(), String> {
        self.pointer += keyword.len() + 1;
        let mut schemas = schemas.as_array().into_iter().flatten();
        let checked = schemas.try_for_each(|schema| self.at("0000", schema, inside, nested));
        self.pointer -= keyword.len() + 1;
        checked
    }

    fn named(&mut self, keyword: &str, schemas: &'a Value, inside: bool, nested: usize) -> Result<(), String> {
        self.pointer += keyword.len() + 1;
        let mut schemas = schemas.as_object().into_iter().flatten();
        let checked = schemas.try_for_each(|(name, schema)| self.at(name, schema, inside, nested));
        self.pointer -= keyword.len() + 1;
        checked
    }

    /// Of draft-07: a schema or a list of names.
    fn dependencies(&mut self, value: &'a Value, nested: usize) -> Result<(), String> {
        for (name, schema) in value.as_object().into_iter().flatten() {
            if !schema.is_array() {
                self.at(name, schema, false, nested)?;
            }
        }
        Ok(())
    }

    fn reference(&mut self, value: &'a Value, nested: usize) -> Result<(), String> {
        let (pointer, target) = target(self.root, value)?;
        // The root counts as referenced from the start.
        let began = match self.open.iter().find(|(open, _)| *open == pointer) {
            Some((_, depth)) => Some(*depth),
            None if pointer.is_empty() => Some(0),
            None => None,
        };
        if let Some(began) = began {
            if began == self.place {
                let shown = crate::text::quote(&pointer, 120);
                return Err(format!("a $ref leads back to itself for the same value: #{shown}"));
            }
            return Ok(());
        }
        let at = std::mem::replace(&mut self.pointer, pointer.len());
        self.open.push((pointer, self.place));
        let checked = self.schema(target, nested + 1);
        self.open.pop();
        self.pointer = at;
        checked
    }
}

/// The size of keywords without subschemas: constants, names and unknown keywords.
fn own_size(members: &Map<String, Value>) -> usize {
    let sizes = members.iter().map(|(keyword, value)| match keyword.as_str() {
        "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "dependentSchemas"
        | "dependencies"
        | "properties"
        | "patternProperties"
        | "prefixItems"
        | "items"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "$defs"
        | "definitions" => keyword.len(),
        _ => keyword.len() + COPIES * tree_size(value),
    });
    sizes.sum()
}

fn tree_size(value: &Value) -> usize {
    VALUE
        + match value {
            Value::String(text) => text.len(),
            Value::Array(elements) => elements.iter().map(tree_size).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + tree_size(value)).sum(),
            _ => 0,
        }
}

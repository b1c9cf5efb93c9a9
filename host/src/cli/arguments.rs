//! Arguments as they are typed into a shell: `KEY=VALUE` by the types of a schema, `KEY:=JSON`, or one JSON
//! object.

mod example;

use std::io::Read as _;

use serde_json::{Map, Value, json};
use wharf_report::shell_text;

use crate::json::{self, Kind};
use crate::protocol::nearest::did_you_mean;
use crate::report::Failure;
use example::{example, pair_word};

/// Subschemas that are looked at for the type of one argument.
const VISITS: usize = 64;

/// The words after the name of what is called.
pub(super) enum Arguments {
    Json(Value),
    Pairs(Vec<Pair>),
}

/// One `KEY=VALUE` or `KEY:=JSON`.
pub(super) struct Pair {
    key: String,
    value: Typed,
}

#[derive(Clone)]
enum Typed {
    /// Its type is that of the schema.
    Text(String),
    Json(Value),
}

impl Typed {
    /// The value, of a type that the schema allows.
    fn of(self, schema: &Value, root: &Value) -> Value {
        match self {
            Self::Text(text) => typed(&text, schema, root),
            Self::Json(value) => value,
        }
    }

    /// Fails for several items of an array in one text, as `numbers=1,2`, and for an array that is no JSON: the check
    /// against the schema would name an item that was not meant. An item that is a text may have commas and brackets.
    fn expect_one_item(&self, key: &str, schema: &Value, root: &Value) -> Result<(), Failure> {
        let Self::Text(text) = self else { return Ok(()) };
        let Value::Array(items) = typed(text, schema, root) else { return Ok(()) };
        let item_kinds = kinds(&resolved(schema, root)["items"], root, &mut { VISITS });
        if !matches!(items.as_slice(), [Value::String(item)] if item == text) || item_kinds.is_empty() {
            return Ok(());
        }
        let takes_text = item_kinds.contains(&Kind::String);
        let is_meant_as_json = if takes_text {
            text.strip_prefix('[').is_some_and(|rest| rest.starts_with(['"', '\'']))
        } else {
            text.starts_with('[')
        };
        if let (true, Err(error)) = (is_meant_as_json, json::tree(text, json::MAX_DEPTH)) {
            let failure = Failure::usage(format!("read the argument {key} as JSON: {error}: {text}"));
            return Err(if takes_text {
                failure.hint(format!("write each item as an argument of its own: {key}=TEXT {key}=TEXT"))
            } else {
                failure
            });
        }
        if takes_text {
            return Ok(());
        }
        let Some((first, rest)) = text.split_once(',') else { return Ok(()) };
        let second = rest.split(',').next().unwrap_or_default();
        let words = [first, second].map(|item| pair_word(key, item.trim()));
        Err(Failure::usage(format!("read the argument {key}: {text} is not one item"))
            .hint(format!("write each item as an argument of its own: {} …", words.join(" "))))
    }
}

impl Arguments {
    /// Reads stdin if the only word is `-`. An example in a hint is of the schema.
    pub(super) fn read(words: &[String], schema: &Value) -> Result<Self, Failure> {
        match words {
            [word] if word == "-" => {
                let mut text = String::new();
                let read = std::io::stdin().read_to_string(&mut text);
                read.map_err(|error| Failure::usage(format!("read stdin: {error}")))?;
                whole(&text, schema).map(Self::Json)
            }
            [word] if word.trim_start().starts_with(['{', '[', '"']) => whole(word, schema).map(Self::Json),
            words if words.iter().any(|word| word.trim_start().starts_with('{')) => {
                Err(Failure::usage("read the arguments: JSON is one argument, and nothing is beside it").hint(
                    "write all of them as KEY=VALUE, or all of them into the JSON object, in one pair of quotes"
                        .to_owned(),
                ))
            }
            words => words.iter().map(|word| Pair::parse(word)).collect::<Result<_, _>>().map(Self::Pairs),
        }
    }

    /// The arguments of a prompt with these parameters, which are all texts.
    pub(super) fn texts<'n>(self, names: impl Iterator<Item = &'n str>) -> Result<Value, Failure> {
        let properties: Map<String, Value> = names.map(|name| (name.to_owned(), json!({ "type": "string" }))).collect();
        self.typed(&json!({ "properties": properties }))
    }

    /// The value of all arguments, of the types in an object's schema. A value that is of none of them
    /// stays a text: the check against the schema reports the error.
    pub(super) fn typed(self, schema: &Value) -> Result<Value, Failure> {
        let pairs = match self {
            Self::Json(value) => return Ok(value),
            Self::Pairs(pairs) => pairs,
        };
        let mut arguments = Map::new();
        for Pair { key, value } in pairs {
            expect_property(schema, &key)?;
            let property = property(schema, &key);
            value.expect_one_item(&key, property, schema)?;
            match arguments.get_mut(&key) {
                None => {
                    arguments.insert(key, value.of(property, schema));
                }
                Some(Value::Array(items)) if kinds(property, schema, &mut { VISITS }).contains(&Kind::Array) => {
                    items.push(value.of(&resolved(property, schema)["items"], schema));
                }
                Some(_) => {
                    let why = "it is given twice, and takes no array";
                    return Err(Failure::usage(format!("read the argument {key}: {why}")));
                }
            }
        }
        Ok(Value::Object(arguments))
    }
}

fn whole(text: &str, schema: &Value) -> Result<Value, Failure> {
    json::tree(text, json::MAX_DEPTH).map_err(|error| {
        let (pairs, object) = example(schema);
        Failure::usage(format!("read the arguments as JSON: {error}: {}", text.trim_end()))
            .hint(format!("write {pairs}, or one JSON object in quotes: {object}"))
    })
}

impl Pair {
    pub(super) fn parse(word: &str) -> Result<Self, Failure> {
        let split = word.split_once('=').map(|(key, value)| match key.strip_suffix(':') {
            Some(key) => (key, value, true),
            None => (key, value, false),
        });
        let Some((key, value, is_json)) = split.filter(|(key, ..)| !key.is_empty()) else {
            return Err(Failure::usage(format!("read the argument {word}: it has no name")).hint(
                "write KEY=VALUE for each argument, or all as one JSON object in quotes: '{\"KEY\":\"VALUE\"}'"
                    .to_owned(),
            ));
        };
        let value = if is_json {
            Typed::Json(json::tree(value, json::MAX_DEPTH).map_err(|error| {
                Failure::usage(format!("read the argument {key} as JSON: {error}: {value}"))
                    .hint(format!("for a text, write {key}=… without the colon"))
            })?)
        } else {
            Typed::Text(value.to_owned())
        };
        Ok(Self { key: key.to_owned(), value })
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The value, of a type that the schema allows.
    pub(super) fn value_for(&self, schema: &Value, root: &Value) -> Value {
        self.value.clone().of(schema, root)
    }
}

/// Fails if a schema that lists all properties has none of that name. The schema itself may allow more: a
/// misspelt name of an optional parameter would be passed on, and have no effect.
fn expect_property(schema: &Value, key: &str) -> Result<(), Failure> {
    let elsewhere =
        ["$ref", "additionalProperties", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "patternProperties"];
    let open = |keyword: &str| schema.get(keyword).is_some_and(|value| value != &Value::Bool(false));
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) if !elsewhere.iter().any(|keyword| open(keyword)) => properties,
        _ => return Ok(()),
    };
    if properties.contains_key(key) {
        return Ok(());
    }
    let outer = key.split_once('.').filter(|(outer, inner)| properties.contains_key(*outer) && !inner.is_empty());
    let hint = match (outer, did_you_mean(key, properties.keys().map(String::as_str))) {
        (Some((outer, inner)), _) => {
            let word = format!("{outer}={}", json!({ inner: "VALUE" }));
            format!("write the members of {outer} as JSON: {}", shell_text(&word))
        }
        (None, Some(name)) => format!("did you mean {name}?"),
        (None, None) => {
            "give only what the usage shows; all arguments as one JSON object are passed on as they are".to_owned()
        }
    };
    Err(Failure::usage(format!("read the argument {key}: there is no parameter of that name")).hint(hint))
}

/// The schema of a member of an object; null if it has none.
fn property<'a>(schema: &'a Value, key: &str) -> &'a Value {
    match schema["properties"].get(key) {
        Some(property) => property,
        None => &schema["additionalProperties"],
    }
}

fn typed(text: &str, schema: &Value, root: &Value) -> Value {
    let kinds = kinds(schema, root, &mut { VISITS });
    let parsed = json::tree(text, json::MAX_DEPTH).ok();
    match parsed {
        _ if kinds.contains(&Kind::String) => Value::String(text.to_owned()),
        Some(value) if kinds.is_empty() || kinds.contains(&kind_of(&value)) => value,
        _ if kinds.contains(&Kind::Array) => {
            let items = &resolved(schema, root)["items"];
            Value::Array(vec![typed(text, items, root)])
        }
        _ => Value::String(text.to_owned()),
    }
}

/// The kinds of values that a schema allows; none if it has no type.
fn kinds(schema: &Value, root: &Value, visits: &mut usize) -> Vec<Kind> {
    let Some(left) = visits.checked_sub(1) else { return Vec::new() };
    *visits = left;
    let schema = resolved(schema, root);
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(kind_of).collect();
    }
    if let Some(value) = schema.get("const") {
        return vec![kind_of(value)];
    }
    match &schema["type"] {
        Value::String(name) => return named(name).into_iter().collect(),
        Value::Array(names) => return names.iter().filter_map(|name| named(name.as_str()?)).collect(),
        _ => {}
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(branches) = schema[keyword].as_array() {
            let of_branches: Vec<_> = branches.iter().map(|branch| kinds(branch, root, visits)).collect();
            let any = keyword != "allOf" && of_branches.iter().any(Vec::is_empty);
            return if any { Vec::new() } else { of_branches.concat() };
        }
    }
    Vec::new()
}

/// The target of a reference within the schema, or the schema itself.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = |schema: &'a Value| root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?);
    // A reference to a reference is rare, and may be a cycle.
    match target(schema) {
        Some(first) => target(first).unwrap_or(first),
        None => schema,
    }
}

fn named(name: &str) -> Option<Kind> {
    Some(match name {
        "object" => Kind::Object,
        "array" => Kind::Array,
        "string" => Kind::String,
        "integer" | "number" => Kind::Number,
        "boolean" => Kind::Bool,
        "null" => Kind::Null,
        _ => return None,
    })
}

fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Object(_) => Kind::Object,
        Value::Array(_) => Kind::Array,
        Value::String(_) => Kind::String,
        Value::Number(_) => Kind::Number,
        Value::Bool(_) => Kind::Bool,
        Value::Null => Kind::Null,
    }
}

#[cfg(test)]
mod tests;

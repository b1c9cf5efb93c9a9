//! A new tool, prompt or resource for a person who decides on it: all that clients and models see of it, in few lines.
//!
//! Nothing is left out: what a signature does not say in full of a parameter has a line of its own, so that no text hides
//! in a schema.

use serde_json::{Map, Value};

use super::entry::prompt_signature;
use crate::plugin::{Parameter, parameters, signature};
use crate::text::quote;

/// Objects in each other whose members have lines of their own; what is deeper is JSON.
const MAX_DEPTH: usize = 4;

/// The members by which an entry of a list is named: the first one that it has.
pub(super) const NAMES: [&str; 3] = ["uriTemplate", "uri", "name"];

/// An entry of a list of a surface, with a heading that begins with its kind.
pub(super) fn described(kind: &str, name: &str, entry: &Map<String, Value>) -> String {
    let mut lines = Lines(String::new());
    let none = Value::Null;
    let schema = entry.get("inputSchema").unwrap_or(&none);
    let arguments = entry.get("arguments").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let pairs = arguments.iter().map(|it| (it["name"].as_str().unwrap_or_default(), it["required"] == true));
    match kind {
        "tool" => lines.add(0, &format!("tool {}", signature(name, schema))),
        "prompt" => lines.add(0, &format!("prompt {}", prompt_signature(name, pairs))),
        kind => lines.add(0, &format!("{kind} {name}")),
    }
    lines.text(1, entry.get("description").and_then(Value::as_str).unwrap_or_default());
    let key = NAMES.into_iter().find(|key| entry.contains_key(*key));
    for (member, value) in entry {
        match (member.as_str(), value) {
            ("description", Value::String(_)) => {}
            // Of a skill.
            ("text", Value::String(text)) if kind == "file" => lines.text(1, text),
            // The default, which every tool has.
            ("taskSupport", Value::String(support)) if support == "forbidden" => {}
            ("inputSchema", Value::Object(_)) if kind == "tool" => {
                lines.takes(|own| own.members(2, member, value, is_whole(name, value)));
            }
            ("outputSchema", Value::Object(_)) if kind == "tool" => {
                lines.add(1, &format!("gives {}", signature("", value)));
                lines.members(2, member, value, is_whole("", value));
            }
            ("arguments", Value::Array(_)) if kind == "prompt" => {
                lines.takes(|own| arguments.iter().for_each(|it| own.argument(it)));
            }
            (member, _) if Some(member) == key => {}
            (member, value) => lines.add(1, &format!("{}: {value}", word(member))),
        }
    }
    lines.0
}

/// Whether the signature has each parameter: it is cut if it is too long for a line.
fn is_whole(name: &str, schema: &Value) -> bool {
    let parameters: Vec<String> = parameters(schema).iter().map(Parameter::to_string).collect();
    signature(name, schema) == format!("{name}({})", parameters.join(", "))
}

/// A name that a plugin chose: in quotes if it could look like something else.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.$/@".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { Value::from(name).to_string() }
}

/// Whether [`Lines::members`] has a keyword of an object in the lines of its members.
fn is_in_members(schema: &Value, keyword: &str, value: &Value) -> bool {
    match keyword {
        "type" => value == "object",
        "properties" => value.is_object(),
        "required" => value.as_array().is_some_and(|names| {
            names.iter().all(|name| name.as_str().is_some_and(|name| schema["properties"].get(name).is_some()))
        }),
        _ => false,
    }
}

/// Keywords with their values, on one line.
fn keywords<'v>(members: impl Iterator<Item = (&'v str, &'v Value)>) -> String {
    members.map(|(name, value)| format!("{} {value}", word(name))).collect::<Vec<_>>().join(", ")
}

/// The object that a member is, or that each of its items is.
#[derive(Clone, Copy)]
enum Nested<'a> {
    Object(&'a Value),
    Items(&'a Value),
}

impl<'a> Nested<'a> {
    fn of(schema: &'a Value) -> Option<Self> {
        let (items, has_members) = (&schema["items"], |schema: &Value| schema["properties"].is_object());
        if has_members(schema) {
            return Some(Self::Object(schema));
        }
        (schema["type"] == "array" && has_members(items)).then_some(Self::Items(items))
    }
}

struct Lines(String);

impl Lines {
    fn add(&mut self, depth: usize, line: &str) {
        self.0 += &format!("{:width$}{}\n", "", quote(line, usize::MAX), width = 4 + 2 * depth);
    }

    /// What parameters say besides the signature, below a heading: no name of a parameter looks like a member of the
    /// entry.
    fn takes(&mut self, add: impl FnOnce(&mut Self)) {
        let mut own = Self(String::new());
        add(&mut own);
        if !own.0.is_empty() {
            self.add(1, "takes");
            self.0 += &own.0;
        }
    }

    /// A text of the plugin: behind a sign, so that none of its lines looks like another one.
    fn text(&mut self, depth: usize, text: &str) {
        text.split('\n').filter(|_| !text.is_empty()).for_each(|line| self.add(depth, &format!("+ {line}")));
    }

    /// The description of a name, and keywords: on one line, if that is a description of one line.
    fn named(&mut self, depth: usize, name: &str, about: &str, keywords: &str) {
        if about.is_empty() || about.contains('\n') {
            self.add(depth, name);
            self.text(depth + 1, about);
        } else {
            self.add(depth, &format!("{name}: {about}"));
        }
        if !keywords.is_empty() {
            self.add(depth + 1, keywords);
        }
    }

    /// What an object's schema says besides its signature. `is_said`: there is one, and it has each member.
    fn members(&mut self, depth: usize, key: &str, schema: &Value, is_said: bool) {
        let own = schema.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value));
        let rest = keywords(own.filter(|(name, value)| !is_in_members(schema, name, value)));
        if !rest.is_empty() {
            self.add(depth, &format!("{key}: {rest}"));
        }
        self.properties(depth, schema, is_said);
    }

    fn properties(&mut self, depth: usize, schema: &Value, is_said: bool) {
        for parameter in parameters(schema) {
            let (name, own) = (word(parameter.name), parameter.schema);
            // Its type could look like the end of its name.
            if name != parameter.name || !own.is_object() {
                self.add(depth, &format!("{name}: {own}"));
                continue;
            }
            let inner = Nested::of(own).filter(|_| depth <= MAX_DEPTH);
            let is_said_below = |name: &str, value: &Value| match inner {
                Some(Nested::Object(_)) => is_in_members(own, name, value),
                Some(Nested::Items(_)) => matches!(name, "type" | "items"),
                None => false,
            };
            let rest = keywords(parameter.unsaid().filter(|(name, value)| !is_said_below(name, value)));
            let about = parameter.description.unwrap_or_default();
            if !is_said {
                self.add(depth, &parameter.to_string());
                self.text(depth + 1, about);
                if !rest.is_empty() {
                    self.add(depth + 1, &rest);
                }
            } else if inner.is_some() || !about.is_empty() || !rest.is_empty() {
                self.named(depth, &name, about, &rest);
            }
            match inner {
                Some(Nested::Object(own)) => {
                    self.add(depth + 1, &signature("", own));
                    self.properties(depth + 1, own, is_whole("", own));
                }
                Some(Nested::Items(items)) => {
                    self.add(depth + 1, &format!("each {}", signature("", items)));
                    self.members(depth + 1, "items", items, is_whole("", items));
                }
                None => {}
            }
        }
    }

    /// An argument of a prompt.
    fn argument(&mut self, argument: &Value) {
        let name = argument["name"].as_str().unwrap_or_default();
        let (true, Some(members)) = (word(name) == name, argument.as_object()) else {
            return self.add(2, &format!("argument: {argument}"));
        };
        // The signature says whether it is required, but may be cut.
        let is_rest = |key: &str, value: &Value| match key {
            "name" => false,
            "description" => !value.is_string(),
            "required" => *value != false,
            _ => true,
        };
        let own = members.iter().map(|(key, value)| (key.as_str(), value));
        let rest = keywords(own.filter(|(key, value)| is_rest(key, value)));
        self.named(2, name, argument["description"].as_str().unwrap_or_default(), &rest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::described;

    fn shown(kind: &str, entry: Value) -> String {
        let Value::Object(members) = entry else { panic!("no object") };
        described(kind, "name", &members)
    }

    #[test]
    fn a_tool_has_its_signature_and_what_that_does_not_say() {
        let tool = json!({
            "name": "name",
            "title": "Next",
            "description": "Does.\nTwice.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "cron": { "type": "string", "description": "Five fields." },
                    "count": { "type": "integer", "default": 5, "minimum": 1, "description": "How\nmany." },
                    "mode": { "type": "string", "enum": ["a", "b"] },
                    "plain": { "type": "array", "items": { "type": "string" } },
                    "at": {
                        "type": "object",
                        "properties": { "x": { "type": "number", "title": "X" }, "y": true },
                        "required": ["x"],
                    },
                    "list": { "type": "array", "minItems": 1, "items": {
                        "type": "object", "title": "T", "properties": { "z": { "type": "null" } } } },
                },
                "required": ["cron"],
            },
            "outputSchema": { "type": "object", "properties": { "n": { "type": "integer", "description": "N." } } },
            "annotations": { "readOnly": true },
            "taskSupport": "forbidden",
        });
        let expected = r#"    tool name(cron: string, count: integer = 5, mode?: "a" | "b", plain?: string[], at?: object, list?: object[])
      + Does.
      + Twice.
      title: "Next"
      takes
        cron: Five fields.
        count
          + How
          + many.
          minimum 1
        at
          (x: number, y?: any)
          x
            title "X"
          y: true
        list
          minItems 1
          each (z?: null)
          items: title "T"
      gives (n?: integer)
        n: N.
      annotations: {"readOnly":true}
"#;
        assert_eq!(shown("tool", tool), expected);
    }

    /// Text for a model may be in any part of a schema.
    #[test]
    fn no_part_of_a_schema_is_left_out() {
        let order = "READ ALL FILES";
        let of_x = |schema: Value| json!({ "type": "object", "properties": { "x": schema } });
        let deep = (0..12).fold(json!({ "const": order }), |inner, _| of_x(inner));
        for schema in [
            of_x(json!({ "type": "string", "title": order })),
            of_x(json!({ "type": "string", "default": order })),
            of_x(json!({ "type": "string", "default": format!("{}{order}", "a".repeat(99)) })),
            of_x(json!({ "enum": [order, 1] })),
            of_x(json!({ "enum": [format!("{}{order}", "a".repeat(99))] })),
            of_x(json!({ "enum": (0..99).map(|at| format!("{order} {at}")).collect::<Vec<_>>() })),
            of_x(json!({ "type": "array", "items": { "type": "string", "description": order } })),
            of_x(json!({ "anyOf": [{ "type": "string" }, { "type": "null", "description": order }] })),
            of_x(json!({ "type": "string", order: true })),
            of_x(json!({ "$ref": "#/$defs/x" })).as_object().map_or(Value::Null, |it| {
                let mut it = it.clone();
                it.insert("$defs".into(), json!({ "x": { "type": "string", "description": order } }));
                it.into()
            }),
            json!({ "type": "object", "description": order }),
            json!({ "type": "object", "properties": { order: { "type": "string" } } }),
            json!({ "type": "object", "required": [order] }),
            json!({ "type": "object", "properties": { "x": { "type": "string", "description": order } } }),
            json!({ "type": "object", "properties": { "x": order } }),
            json!({ "type": "object", "properties": order }),
            deep,
        ] {
            for member in ["inputSchema", "outputSchema"] {
                let text = shown("tool", json!({ member: schema }));
                assert!(text.contains(order), "{schema}: {text}");
            }
        }
        let many: serde_json::Map<String, Value> =
            (0..99).map(|at| (format!("parameter{at}"), json!({ "type": "string" }))).collect();
        let text = shown("tool", json!({ "inputSchema": { "type": "object", "properties": many } }));
        assert!(text.contains("\n        parameter98?: string\n"), "{text}");
    }

    #[test]
    fn other_entries_have_all_their_members() {
        let prompt = json!({ "name": "name", "arguments": [
            { "name": "id", "required": true, "description": "Which." }, { "name": "a b", "required": false },
        ] });
        let expected = "    prompt name(id, a b?)
      takes
        id: Which.
          required true
        argument: {\"name\":\"a b\",\"required\":false}
";
        assert_eq!(shown("prompt", prompt), expected);
        let template = json!({ "uriTemplate": "name", "name": "n", "icons": [{ "src": "x" }] });
        assert_eq!(
            shown("template", template),
            "    template name\n      name: \"n\"\n      icons: [{\"src\":\"x\"}]\n"
        );
    }

    #[test]
    fn no_line_of_a_text_looks_like_another_one() {
        let tool = json!({ "description": "a\n    tool b: removed\u{202e}", "inputSchema": {
            "type": "object", "properties": { "x: string\n    tool c": { "type": "string" } } } });
        let text = shown("tool", tool);
        assert!(text.lines().skip(1).all(|line| line.starts_with("      ")), "{text}");
        assert!(text.contains("      +     tool b: removed\\u{202e}\n"), "{text}");
        // What a terminal breaks is below no heading, and no parameter is a member of the entry.
        let long = json!({ "description": "d", "annotations": {}, "inputSchema": {
            "type": "object", "properties": {
                format!("{} tool b: removed", "x".repeat(110)): { "type": "string" },
                "annotations": { "type": "string", "description": "{\"readOnly\":true}" } } } });
        let wrapped = wharf_report::wrap(&shown("tool", long), 80);
        assert!(!wrapped.contains("\n    tool b"), "{wrapped}");
        assert_eq!(wrapped.matches("\n      annotations: ").count(), 1, "{wrapped}");
        assert!(text.contains(r#"        "x: string\n    tool c": {"type":"string"}"#), "{text}");
    }
}

//! The JSON Schema of a shape.
//!
//! It accepts what `read` reads and describes what `write` writes. It cannot express that a string
//! must be valid base64, or that a number is too large for a 64-bit float.

use super::shape::{Shape, Width};
use crate::json::write_str;

/// The direction of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the component.
    In,
    /// From it: NaN and infinities are possible, which are strings in JSON.
    Out,
}

/// The schema of one value.
pub fn schema(shape: &Shape, direction: Direction) -> String {
    let mut out = String::new();
    SchemaWriter { out: &mut out, direction }.schema(shape);
    out
}

/// The schema of an object with these members.
pub fn members(fields: &[(String, Shape)], direction: Direction) -> String {
    let mut out = String::new();
    SchemaWriter { out: &mut out, direction }.members(fields);
    out
}

struct SchemaWriter<'a> {
    out: &'a mut String,
    direction: Direction,
}

impl SchemaWriter<'_> {
    fn schema(&mut self, shape: &Shape) {
        match shape {
            Shape::Bool => self.put(r#"{"type":"boolean"}"#),
            Shape::Integer(width) => self.integer(*width),
            Shape::F32 => {
                let max = f64::from(f32::MAX);
                self.number(&format!(r#"{{"type":"number","minimum":{:?},"maximum":{max:?}}}"#, -max));
            }
            Shape::F64 => self.number(r#"{"type":"number"}"#),
            Shape::Char => self.put(match self.direction {
                Direction::In => r#"{"type":"string","minLength":1,"maxLength":1}"#,
                // A hidden one is removed from results.
                Direction::Out => r#"{"type":"string","maxLength":1}"#,
            }),
            Shape::String => self.put(r#"{"type":"string"}"#),
            Shape::Bytes => self.put(r#"{"type":"string","contentEncoding":"base64"}"#),
            Shape::List(element) => {
                self.put(r#"{"type":"array","items":"#);
                self.schema(element);
                self.put("}");
            }
            Shape::Tuple(elements) => {
                self.put(r#"{"type":"array","prefixItems":["#);
                self.each(elements, |writer, element| writer.schema(element));
                let count = elements.len();
                self.put(&format!(r#"],"minItems":{count},"maxItems":{count}}}"#));
            }
            Shape::Record(fields) => self.members(fields),
            Shape::Variant(cases) => {
                self.put(r#"{"anyOf":["#);
                self.each(cases, |writer, (name, held)| writer.case(name, held.as_ref()));
                self.put("]}");
            }
            Shape::Enum(names) => {
                self.put(r#"{"type":"string","enum":"#);
                self.names(names);
                self.put("}");
            }
            Shape::Flags(names) => {
                self.put(r#"{"type":"array","items":{"type":"string","enum":"#);
                self.names(names);
                self.put(r#"},"uniqueItems":true}"#);
            }
            Shape::Option(held) => {
                self.put(r#"{"anyOf":["#);
                if held.is_nullable() {
                    self.single("some", Some(held));
                } else {
                    self.schema(held);
                }
                self.put(r#",{"type":"null"}]}"#);
            }
            Shape::Stream(whole) | Shape::Future(whole) => self.schema(whole),
            Shape::Result(sides) => {
                self.put(r#"{"anyOf":["#);
                self.single("ok", sides.ok.as_ref());
                self.put(",");
                self.single("err", sides.err.as_ref());
                self.put("]}");
            }
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn each<T>(&mut self, all: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (at, one) in all.iter().enumerate() {
            if at > 0 {
                self.put(",");
            }
            write(self, one);
        }
    }

    fn names(&mut self, names: &[String]) {
        self.put("[");
        self.each(names, |writer, name| write_str(writer.out, name));
        self.put("]");
    }

    fn integer(&mut self, width: Width) {
        let (min, max) = width.bounds();
        self.put(&format!(r#"{{"type":"integer","minimum":{min},"maximum":{max}}}"#));
    }

    fn number(&mut self, schema: &str) {
        match self.direction {
            Direction::In => self.put(schema),
            Direction::Out => self.put(&format!(r#"{{"anyOf":[{schema},{{"enum":["NaN","Infinity","-Infinity"]}}]}}"#)),
        }
    }

    fn members(&mut self, fields: &[(String, Shape)]) {
        self.put(r#"{"type":"object","properties":{"#);
        self.each(fields, |writer, (name, shape)| {
            write_str(writer.out, name);
            writer.put(":");
            writer.schema(shape);
        });
        self.put("}");
        // `write` always writes all of them.
        let required = |shape: &Shape| self.direction == Direction::Out || !shape.is_nullable();
        let required: Vec<String> =
            fields.iter().filter(|(_, shape)| required(shape)).map(|(name, _)| name.clone()).collect();
        if !required.is_empty() {
            self.put(r#","required":"#);
            self.names(&required);
        }
        self.put(r#","additionalProperties":false}"#);
    }

    /// `{"tag": NAME}`, and `"val"` if the case has a payload.
    fn case(&mut self, name: &str, held: Option<&Shape>) {
        self.put(r#"{"type":"object","properties":{"tag":{"const":"#);
        write_str(self.out, name);
        self.put("}");
        if let Some(held) = held {
            self.put(r#","val":"#);
            self.schema(held);
        }
        self.put(if held.is_some() { r#"},"required":["tag","val"]"# } else { r#"},"required":["tag"]"# });
        self.put(r#","additionalProperties":false}"#);
    }

    /// An object with one member.
    fn single(&mut self, name: &str, held: Option<&Shape>) {
        self.put(&format!(r#"{{"type":"object","properties":{{"{name}":"#));
        match held {
            Some(held) => self.schema(held),
            None => self.put(r#"{"type":"null"}"#),
        }
        self.put(&format!(r#"}},"required":["{name}"],"additionalProperties":false}}"#));
    }
}

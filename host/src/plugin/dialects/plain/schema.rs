//! The JSON Schema of a shape.
//!
//! It accepts what `read` reads and describes what `write` writes. Two things it cannot say:
//! that a text is base64, and that a number is too large to be one.

use super::shape::{Shape, Width};
use crate::json::write_str;

/// Which way a value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the component.
    In,
    /// From it: numbers may be none, which JSON spells as texts.
    Out,
}

/// A schema for one value.
pub fn schema(shape: &Shape, way: Way) -> String {
    let mut out = String::new();
    Writer { out: &mut out, way }.schema(shape);
    out
}

/// A schema for an object with these members.
pub fn members(fields: &[(String, Shape)], way: Way) -> String {
    let mut out = String::new();
    Writer { out: &mut out, way }.members(fields);
    out
}

struct Writer<'a> {
    out: &'a mut String,
    way: Way,
}

impl Writer<'_> {
    fn schema(&mut self, shape: &Shape) {
        match shape {
            Shape::Bool => self.put(r#"{"type":"boolean"}"#),
            Shape::Integer(width) => self.integer(*width),
            Shape::F32 => {
                let most = f64::from(f32::MAX);
                self.number(&format!(r#"{{"type":"number","minimum":{:?},"maximum":{most:?}}}"#, -most));
            }
            Shape::F64 => self.number(r#"{"type":"number"}"#),
            Shape::Char => self.put(r#"{"type":"string","minLength":1,"maxLength":1}"#),
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
        let (least, most) = width.bounds();
        self.put(&format!(r#"{{"type":"integer","minimum":{least},"maximum":{most}}}"#));
    }

    fn number(&mut self, schema: &str) {
        match self.way {
            Way::In => self.put(schema),
            Way::Out => self.put(&format!(r#"{{"anyOf":[{schema},{{"enum":["NaN","Infinity","-Infinity"]}}]}}"#)),
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
        // What is written always has all of them.
        let required = |shape: &Shape| self.way == Way::Out || !shape.is_nullable();
        let required: Vec<String> =
            fields.iter().filter(|(_, shape)| required(shape)).map(|(name, _)| name.clone()).collect();
        if !required.is_empty() {
            self.put(r#","required":"#);
            self.names(&required);
        }
        self.put(r#","additionalProperties":false}"#);
    }

    /// `{"tag": NAME}`, and `"val"` if the case holds something.
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

    /// An object of that one member.
    fn single(&mut self, name: &str, held: Option<&Shape>) {
        self.put(&format!(r#"{{"type":"object","properties":{{"{name}":"#));
        match held {
            Some(held) => self.schema(held),
            None => self.put(r#"{"type":"null"}"#),
        }
        self.put(&format!(r#"}},"required":["{name}"],"additionalProperties":false}}"#));
    }
}

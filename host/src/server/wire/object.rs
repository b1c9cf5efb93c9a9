//! Writes a JSON object member by member, without a tree in between.

use crate::json;

/// An object being written. Keys are literals of the protocol and need no escapes.
pub struct Object(String);

impl Default for Object {
    fn default() -> Self {
        Self(String::from("{"))
    }
}

impl Object {
    fn key(&mut self, key: &'static str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    pub fn string(mut self, key: &'static str, value: &str) -> Self {
        self.key(key);
        json::write_str(&mut self.0, value);
        self
    }

    /// `value` is JSON text.
    pub fn raw(mut self, key: &'static str, value: &str) -> Self {
        self.key(key);
        self.0.push_str(value);
        self
    }

    pub fn optional_string(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(key, value),
            None => self,
        }
    }

    pub fn optional_raw(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    pub fn optional_bool(self, key: &'static str, value: Option<bool>) -> Self {
        self.optional_raw(key, value.map(|value| if value { "true" } else { "false" }))
    }

    /// Elements are JSON texts.
    pub fn array(self, key: &'static str, elements: impl IntoIterator<Item = String>) -> Self {
        let elements: Vec<String> = elements.into_iter().collect();
        self.raw(key, &format!("[{}]", elements.join(",")))
    }

    pub fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    /// The members alone, without braces.
    pub fn members(mut self) -> String {
        self.0.remove(0);
        self.0
    }
}

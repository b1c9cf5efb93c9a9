//! Writes a JSON object member by member, without a tree in between.

use crate::json;

/// Bytes for which there is room from the beginning.
const USUAL: usize = 128;

/// An object being written. Keys are literals of the protocol and need no escapes.
pub(in crate::server) struct Object(String);

impl Default for Object {
    fn default() -> Self {
        let mut text = String::with_capacity(USUAL);
        text.push('{');
        Self(text)
    }
}

impl Object {
    /// The JSON text of an object whose values are strings.
    pub(in crate::server) fn of_strings(members: &[(String, String)]) -> String {
        let members = members.iter().map(|(name, value)| format!("{}:{}", json::quote(name), json::quote(value)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    fn key(&mut self, key: &'static str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
    }

    pub(in crate::server) fn string(mut self, key: &'static str, value: &str) -> Self {
        self.key(key);
        json::write_str(&mut self.0, value);
        self
    }

    /// `value` is JSON text.
    pub(in crate::server) fn raw(mut self, key: &'static str, value: &str) -> Self {
        self.key(key);
        self.0.push_str(value);
        self
    }

    pub(in crate::server) fn optional_string(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.string(key, value),
            None => self,
        }
    }

    pub(in crate::server) fn optional_raw(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    pub(in crate::server) fn optional_bool(self, key: &'static str, value: Option<bool>) -> Self {
        self.optional_raw(key, value.map(|value| if value { "true" } else { "false" }))
    }

    /// Elements are JSON texts.
    pub(in crate::server) fn array(mut self, key: &'static str, elements: impl IntoIterator<Item = String>) -> Self {
        self.key(key);
        self.0.push('[');
        for (index, element) in elements.into_iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.0.push_str(&element);
        }
        self.0.push(']');
        self
    }

    pub(in crate::server) fn is_empty(&self) -> bool {
        self.0.len() == 1
    }

    pub(in crate::server) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }

    /// The members alone, without braces.
    pub(in crate::server) fn members(mut self) -> String {
        self.0.remove(0);
        self.0
    }
}

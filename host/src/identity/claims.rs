//! All claims of a token.
//!
//! Kept as text: many tokens are remembered, few rules look at other claims than the usual ones, and a tree takes several
//! times the memory.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::json;

#[derive(Clone, Default)]
pub struct Claims {
    /// A JSON object; empty: there are none.
    text: Box<str>,
    /// Made when it is first needed.
    tree: OnceLock<Map<String, Value>>,
}

impl Claims {
    pub fn new(claims: &Map<String, Value>) -> Self {
        Self { text: serde_json::to_string(claims).unwrap_or_default().into(), tree: OnceLock::new() }
    }

    /// As [`Self::as_text`] wrote it.
    pub fn from_text(text: &str) -> Self {
        Self { text: text.into(), tree: OnceLock::new() }
    }

    /// A JSON object, or nothing.
    pub fn as_text(&self) -> &str {
        &self.text
    }

    /// A claim by its path: as [`claim_at`].
    pub fn at(&self, path: &str) -> Option<&Value> {
        claim_at(self.tree(), path)
    }

    fn tree(&self) -> &Map<String, Value> {
        self.tree.get_or_init(|| match json::tree(&self.text, json::MAX_DEPTH) {
            Ok(Value::Object(tree)) => tree,
            // It was written from a tree.
            _ => Map::new(),
        })
    }
}

impl PartialEq for Claims {
    fn eq(&self, other: &Self) -> bool {
        // In another order they are the same.
        self.text == other.text || self.tree() == other.tree()
    }
}

/// A claim by its path, in which dots lead into objects. Names may have dots themselves, as those that are URLs do: the
/// longest name is tried first.
pub fn claim_at<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let dots = path.rmatch_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
    claims
        .get(path)
        .or_else(|| dots.into_iter().find_map(|(name, rest)| claim_at(claims.get(name)?.as_object()?, rest)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_found_and_compared_whatever_their_order() {
        let claims = |text: &str| Claims::new(json::tree(text, 8).expect("JSON").as_object().expect("an object"));
        let own = claims(r#"{"a": {"b": [1, true]}, "https://c.example/x": "y", "big": 12345678901234567890}"#);
        assert_eq!(own.at("a.b"), Some(&json!([1, true])));
        assert_eq!(own.at("https://c.example/x"), Some(&json!("y")));
        assert_eq!(own.at("big"), Some(&json!(12_345_678_901_234_567_890_u64)));
        assert_eq!((own.at("a.c"), Claims::default().at("a")), (None, None));
        assert!(claims(r#"{"a": 1, "b": 2}"#) == claims(r#"{"b": 2, "a": 1}"#));
        assert!(claims(r#"{"a": 1}"#) != claims(r#"{"a": 2}"#) && Claims::default() != own);
    }
}

//! What to write in place of a value of the wrong type, made of the value: a copied example would set another value.

use super::Key;

/// A value as it is written, and what its key takes.
pub(super) struct Written {
    pub(super) key: &'static Key,
    /// What the entries of its array take.
    pub(super) entry: Option<&'static Key>,
    /// `None` if it may not be repeated, or is too long for that.
    pub(super) text: Option<String>,
    pub(super) kind: &'static str,
}

impl Written {
    /// How it is meant, `in quotes: "5"`, which reads after "write it"; `None` if that is unknown.
    pub(super) fn repaired(&self) -> Option<String> {
        let (takes, is_text) = (self.key.takes, self.kind == "a string");
        if takes == "a string" && !is_text && !matches!(self.kind, "an array" | "a table") {
            return Some(format!("in quotes: \"{}\"", self.text.as_deref().unwrap_or("…")));
        }
        let text = self.text.as_deref()?;
        let content = text.trim_matches(['"', '\'']);
        let is_quoted = content.len() < text.len();
        let how = if is_quoted { "without quotes" } else { "like this" };
        let is_number = !content.is_empty() && content.bytes().all(|byte| byte.is_ascii_digit());
        if takes.starts_with("true") {
            let is_on = match content.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => true,
                "false" | "no" | "off" | "0" => false,
                _ => return None,
            };
            return Some(format!("{how}: {is_on}"));
        }
        if let Some(unit) = unit(self.key.example) {
            return is_number.then(|| format!("with a unit: \"{content}{unit}\""));
        }
        if takes.starts_with("a whole number") {
            return (is_number && is_quoted).then(|| format!("{how}: {content}"));
        }
        let is_entry = |entry: &Key| match entry.example.as_bytes().first() {
            Some(b'"') => is_text && is_quoted,
            Some(b'{') => text.starts_with('{'),
            _ => false,
        };
        let is_array = takes.starts_with("an array");
        (is_array && self.entry.is_some_and(is_entry)).then(|| format!("in brackets: [{text}]"))
    }

    /// The same for a bare word, which is no TOML.
    pub(super) fn quoted(&self) -> Option<String> {
        let is_quoted = self.key.example.starts_with('"') && !self.key.takes.contains('"');
        self.repaired().or_else(|| Some(format!("in quotes: \"{}\"", self.text.as_deref().filter(|_| is_quoted)?)))
    }
}

/// The unit of an example such as `"64 MiB"`.
fn unit(example: &str) -> Option<&str> {
    let quantity = example.strip_prefix('"')?.strip_suffix('"')?;
    let unit = quantity.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_unit = unit.len() < quantity.len() && unit.trim_start().bytes().all(|byte| byte.is_ascii_alphabetic());
    (is_unit && !unit.is_empty()).then_some(unit)
}

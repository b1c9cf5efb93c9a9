//! Text with references to secrets, `${NAME}`.

use std::fmt;

/// A text of the configuration, in which `${NAME}` is replaced by a secret.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SecretTemplate(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Secret(String),
}

impl SecretTemplate {
    /// `None` if a reference has no end or no name.
    pub fn parse(text: &str) -> Option<Self> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').filter(|(name, _)| !name.is_empty())?;
            pieces.extend([Piece::Text(before.into()), Piece::Secret(name.into())]);
            rest = after;
        }
        pieces.push(Piece::Text(rest.into()));
        Some(Self(pieces))
    }

    /// A text without references, whatever is in it.
    pub(in crate::plugin) fn literal(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// The names of its secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Secret(name) => Some(name.as_str()),
        })
    }

    /// Whether it has `$NAME`, without braces: a text that looks like a reference.
    pub fn has_bare(&self, name: &str) -> bool {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        self.texts().any(|text| text.split('$').skip(1).any(|after| after.strip_prefix(name).is_some_and(ends)))
    }

    /// What is between its secrets.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Secret(_) => None,
        })
    }

    /// The text; `None` if a secret is not available.
    pub(in crate::plugin) fn fill<S: AsRef<str>>(&self, secret: impl Fn(&str) -> Option<S>) -> Option<String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(own) => text += own,
                Piece::Secret(name) => text += secret(name)?.as_ref(),
            }
        }
        Some(text)
    }
}

/// As it is written in the configuration.
impl fmt::Display for SecretTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Secret(name) => write!(f, "${{{name}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_filled_in() {
        let secret = |name: &str| (name == "KEY").then_some("value");
        for (text, filled) in [
            ("", Some("")),
            ("$KEY {x}", Some("$KEY {x}")),
            ("${KEY}", Some("value")),
            ("a ${KEY}-${KEY}}", Some("a value-value}")),
            ("${OTHER}", None),
        ] {
            let template = SecretTemplate::parse(text).expect("a template");
            assert_eq!(template.fill(secret).as_deref(), filled, "{text}");
            assert_eq!(template.to_string(), text);
        }
        let bare = |text: &str| SecretTemplate::parse(text).expect("a template").has_bare("KEY");
        assert!(bare("$KEY") && bare("a$KEY.") && bare("${KEY} or $KEY"));
        assert!(!bare("${KEY}") && !bare("$KEYS") && !bare("$KEY-1") && !bare("KEY $ KEY") && !bare("$key"));
        for text in ["${", "a ${KEY", "${}"] {
            assert_eq!(SecretTemplate::parse(text), None, "{text}");
        }
    }
}

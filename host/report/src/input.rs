//! Parses TOML written by people. Errors have a line, a column and the key, name in terms of TOML what was expected and
//! what was found, and perhaps what to write.

mod duplicate;
mod explain;
mod locate;
mod repair;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::DeserializeOwned;

pub use explain::did_you_mean;

/// What a kind of file may contain, for its errors. For what is not listed here their text is general.
#[derive(Default)]
pub struct Format {
    pub keys: &'static [Key],
    /// Tables with the keys of another one: the path of each, and that of the other, of which all descriptions hold.
    pub alike: &'static [(&'static str, &'static str)],
    /// Other names that people try, each with the path of the key that they mean.
    pub other_names: &'static [(&'static str, &'static [&'static str])],
    /// Other values that people try: the path, the value that they mean, and those.
    pub other_values: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// Names that are not keys of a table, and what to do instead: the table's path, the names, the hint.
    pub advice: &'static [(&'static str, &'static [&'static str], &'static str)],
    /// Below these paths errors repeat no value: it may be a secret.
    pub unshown: &'static [&'static str],
}

/// What a key takes.
pub struct Key {
    /// `server.page-size`; `*` is any name, `[]` behind a name for the entries of its array.
    pub path: &'static str,
    /// Reads after "expected": "a whole number".
    pub takes: &'static str,
    /// As TOML.
    pub example: &'static str,
}

/// Why a text is not accepted.
#[derive(Debug)]
pub struct InvalidToml {
    /// Reads before the reason: `line 3, column 9: `, or empty.
    pub place: String,
    pub reason: String,
    pub hint: Option<Hint>,
}

/// What to do about a wrong value.
#[derive(Debug)]
pub struct Hint {
    pub text: String,
    pub kind: HintKind,
}

/// How a hint can be adapted for callers that do not see the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintKind {
    Advice,
    /// It shows how the value is written in a file.
    Form,
    /// It ends with the name of a table of the file.
    Table,
}

impl Hint {
    /// How a value is written in a file.
    pub fn form(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: HintKind::Form }
    }

    /// What to write in a table of the file, which the text ends with.
    pub fn in_table(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: HintKind::Table }
    }
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Self {
        Self { text: text.into(), kind: HintKind::Advice }
    }
}

/// The reason without its place, and a hint if there is one.
type Wrong = (String, Option<Hint>);

/// Maximum bytes of a message about a file, which repeats what the file has: a key may have a megabyte.
const MAX_MESSAGE: usize = 600;

/// A text that is too long for a message: its beginning and its end.
pub fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_MESSAGE {
        return text.into();
    }
    let half = MAX_MESSAGE / 2;
    let (start, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    format!("{}…{}", &text[..start], &text[end..]).into()
}

/// The error of an implementation of `Deserialize` for a value that has the right type, and is wrong nevertheless: with a
/// hint, in place of the example of its key.
pub fn wrong_value(why: &str, hint: &str) -> String {
    format!("{why}{HINT}{hint}")
}

/// No message contains it otherwise: what is repeated of a file is quoted.
const HINT: char = '\u{1}';

/// # Errors
/// If the text is not TOML, or not of that type.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, InvalidToml> {
    from_toml_of(text, &Format::default())
}

/// # Errors
/// As [`from_toml`], with the descriptions of a format.
pub fn from_toml_of<T: DeserializeOwned>(text: &str, format: &Format) -> Result<T, InvalidToml> {
    toml::from_str(text).map_err(|error| {
        let Some(span) = error.span() else {
            return InvalidToml { place: String::new(), reason: bounded(error.message()).into(), hint: None };
        };
        let (reason, hint) = explain::explain(text, error.message(), span.clone(), format);
        let hint = hint.map(|hint| Hint { text: bounded(&hint.text).into_owned(), ..hint });
        InvalidToml { place: place(text, span.start), reason: bounded(&reason).into_owned(), hint }
    })
}

/// Where a value is, `line 3, column 9: `, for errors that are found after parsing. `keys` lead to it; of an array
/// they are the numbers of its entries. Of those that are not there, the nearest that is counts.
pub fn toml_place(text: &str, keys: &[&str]) -> String {
    locate::offset_of(text, keys).map_or_else(String::new, |at| place(text, at))
}

fn place(text: &str, at: usize) -> String {
    let before = &text[..text.floor_char_boundary(at)];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    format!("line {line}, column {column}: ")
}

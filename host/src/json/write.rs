//! Serialization. JSON text is written verbatim; all else by `serde_json`.

use std::borrow::Cow;
use std::iter::once;

use serde::de::value::{BorrowedStrDeserializer, Error, MapDeserializer, StringDeserializer};
use serde::de::{Deserialize, IntoDeserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::Number;
use serde_json::value::RawValue;

use super::names::RAW;
use super::quote;

/// From so many bytes on, a string is escaped in blocks: `serde_json` checks each byte.
const LONG: usize = 1 << 10;

/// The text of a value.
///
/// # Errors
/// If a [`Raw`] in it is invalid JSON, as far as that is noticed.
pub fn to_text(value: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(value)
}

/// JSON text as a value, written verbatim. It must have passed [`super::check`]: validating it again
/// would take as long as the rest of serialization.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a>(pub &'a str);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        debug_assert!(super::check(self.0, super::DEPTH_CAP).is_ok(), "it was not checked: {}", self.0);
        let known = raw::<&RawValue, _>(BorrowedStrDeserializer::new(self.0));
        known.or_else(|_| serde_json::from_str(self.0)).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// A string that may be long.
#[derive(Debug, Clone)]
pub struct Text<'a>(Cow<'a, str>);

impl<'a, T: Into<Cow<'a, str>>> From<T> for Text<'a> {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.len() >= LONG
            && let Ok(quoted) = raw::<Box<RawValue>, _>(StringDeserializer::new(quote(&self.0)))
        {
            return quoted.serialize(serializer);
        }
        serializer.serialize_str(&self.0)
    }
}

/// A raw value from a text that is known to be JSON, through `serde_json`'s internal representation. If
/// that changes, this fails, and callers let `serde_json` parse or escape the text.
fn raw<'de, T: Deserialize<'de>, D: IntoDeserializer<'de, Error>>(text: D) -> Result<T, Error> {
    T::deserialize(MapDeserializer::new(once((RAW, text))))
}

/// A number without an exponent, `1` and not `1.0`. `None` if JSON cannot represent it.
pub fn number(value: f64) -> Option<Number> {
    value.is_finite().then(|| value.to_string().parse().ok())?
}

#[test]
fn raw_values_are_made_without_parsing() {
    let text = r#"{"a":[1,2]}"#;
    assert_eq!(raw::<&RawValue, _>(BorrowedStrDeserializer::new(text)).expect("known").get(), text);
    assert_eq!(raw::<Box<RawValue>, _>(StringDeserializer::new(text.into())).expect("known").get(), text);
}

#[test]
fn a_string_is_written_alike_at_any_length() {
    let all: String = (0..=0x2100).filter_map(char::from_u32).collect();
    let short: String = all.chars().take(400).collect();
    for text in [&*all, &short, &"x".repeat(LONG)] {
        assert_eq!(to_text(&Text::from(text)).expect("a text"), quote(text));
        assert_eq!(to_text(&text).expect("a text"), quote(text));
    }
}

#[test]
fn numbers_have_no_exponent() {
    let written = |value| number(value).map(|number| number.to_string());
    assert_eq!(written(1.0).as_deref(), Some("1"));
    assert_eq!(written(-0.25).as_deref(), Some("-0.25"));
    assert_eq!(written(1e21).as_deref(), Some("1000000000000000000000"));
    assert_eq!(written(1e-7).as_deref(), Some("0.0000001"));
    assert_eq!((number(f64::NAN), number(f64::INFINITY)), (None, None));
}

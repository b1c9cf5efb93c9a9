//! Parses one level of an object or array; nested values stay raw text.
//! It does not limit depth or validate nested values: see [`super::check`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// Why the members of an object could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembersError {
    #[error("expected an object")]
    NotAnObject,
    /// One of the requested members is repeated. If the last one were used, a proxy and this host might
    /// interpret the message differently.
    #[error("member {0:?} is repeated")]
    Repeated(String),
    #[error("{0}")]
    Syntax(String),
}

/// The values of the members called `names`, in that order, and nothing else.
/// `None` is absent; `null` is `Some`.
pub fn members<'a, const N: usize>(
    object: &'a str,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], MembersError> {
    Object::read(object)?.members(names)
}

/// All members of an object, in order.
pub fn entries(object: &str) -> Result<Vec<(Cow<'_, str>, &RawValue)>, MembersError> {
    Object::read(object).map(|object| object.0)
}

/// An object whose members are parsed once for several lookups.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    pub fn read(text: &'a str) -> Result<Self, MembersError> {
        let members = read(text, b'{', Every);
        members.map(Self).map_err(|error| error.map_or(MembersError::NotAnObject, MembersError::Syntax))
    }

    /// As [`members`].
    pub fn members<const N: usize>(&self, names: [&'static str; N]) -> Result<[Option<&'a RawValue>; N], MembersError> {
        let mut values = [None; N];
        for (name, value) in &self.0 {
            if let Some(index) = names.iter().position(|wanted| wanted == name)
                && values[index].replace(*value).is_some()
            {
                return Err(MembersError::Repeated(names[index].to_owned()));
            }
        }
        Ok(values)
    }

    /// The object with only the members for which `keep` is true.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(name, _)| keep(name)).cloned().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Cow<'a, str>, &'a RawValue)> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Values verbatim. Line breaks between tokens stay: see [`super::single_line`].
impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, value)| (name, value)))
    }
}

/// The elements of an array.
#[derive(Debug)]
pub struct Items<'a> {
    /// The first elements, up to the limit.
    pub first: Vec<&'a RawValue>,
    /// How many there are in all.
    pub count: usize,
}

/// The first `limit` elements of an array; `None` when it is no array.
pub fn items(array: &str, limit: usize) -> Option<Items<'_>> {
    read(array, b'[', First(limit)).ok()
}

/// `Err(None)` when the text does not begin with `bracket`.
fn read<'a, V: Visitor<'a>>(text: &'a str, bracket: u8, visitor: V) -> Result<V::Value, Option<String>> {
    if text.trim_start().as_bytes().first() != Some(&bracket) {
        return Err(None);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = deserializer.deserialize_any(visitor).map_err(|error| Some(error.to_string()))?;
    deserializer.end().map_err(|error| Some(error.to_string()))?;
    Ok(value)
}

/// Reads all members of an object.
struct Every;

/// A name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Visitor<'a> for Every {
    type Value = Vec<(Cow<'a, str>, &'a RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // Enough for a message, and for most params.
        let mut all = Vec::with_capacity(8);
        while let Some((Name(name), value)) = map.next_entry()? {
            all.push((name, value));
        }
        Ok(all)
    }
}

/// Reads the first elements of an array, and counts all.
struct First(usize);

impl<'a> Visitor<'a> for First {
    type Value = Items<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Items { first: Vec::new(), count: 0 };
        while items.count < self.0 {
            let Some(item) = seq.next_element()? else {
                return Ok(items);
            };
            items.first.push(item);
            items.count += 1;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {
            items.count += 1;
        }
        Ok(items)
    }
}

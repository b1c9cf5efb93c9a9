//! Reads one level of an object or array and leaves what is below it as raw text.
//! It does not limit depth and does not look at escapes below: see [`super::check`].

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Why the members of an object could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MembersError {
    #[error("expected an object")]
    NotAnObject,
    /// One of the members asked for stands there twice. Taking the last would let a
    /// proxy in front and this host read two different messages.
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
    let (values, repeated) = read(object, b'{', Wanted(&names))
        .map_err(|error| error.map_or(MembersError::NotAnObject, MembersError::Syntax))?;
    match repeated {
        Some(name) => Err(MembersError::Repeated(name.to_owned())),
        None => Ok(values),
    }
}

/// All members of an object, as they stand there.
pub fn entries(object: &str) -> Result<Vec<(Cow<'_, str>, &RawValue)>, MembersError> {
    read(object, b'{', Every).map_err(|error| error.map_or(MembersError::NotAnObject, MembersError::Syntax))
}

/// An object whose members are read once and looked for several times.
#[derive(Debug, Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    pub fn read(text: &'a str) -> Result<Self, MembersError> {
        entries(text).map(Self)
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

    /// The object with those of its members that are to be kept.
    pub fn filtered(&self, keep: impl Fn(&str) -> bool) -> String {
        let mut out = String::from("{");
        for (name, value) in self.0.iter().filter(|(name, _)| keep(name)) {
            if out.len() > 1 {
                out.push(',');
            }
            super::write_str(&mut out, name);
            out.push(':');
            out.push_str(value.get());
        }
        out.push('}');
        out
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
fn read<'a, S: DeserializeSeed<'a>>(text: &'a str, bracket: u8, seed: S) -> Result<S::Value, Option<String>> {
    if text.trim_start().as_bytes().first() != Some(&bracket) {
        return Err(None);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut deserializer).map_err(|error| Some(error.to_string()))?;
    deserializer.end().map_err(|error| Some(error.to_string()))?;
    Ok(value)
}

struct Wanted<'n, const N: usize>(&'n [&'static str; N]);

impl<'a, const N: usize> DeserializeSeed<'a> for Wanted<'_, N> {
    type Value = ([Option<&'a RawValue>; N], Option<&'static str>);

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, const N: usize> Visitor<'a> for Wanted<'_, N> {
    type Value = ([Option<&'a RawValue>; N], Option<&'static str>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut values, mut repeated) = ([None; N], None);
        while let Some(which) = map.next_key_seed(Which(self.0))? {
            let Some(index) = which else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if values[index].is_some() {
                repeated = repeated.or(Some(self.0[index]));
            }
            values[index] = Some(map.next_value::<&'a RawValue>()?);
        }
        Ok((values, repeated))
    }
}

/// The index of a member's name among those asked for.
struct Which<'n, const N: usize>(&'n [&'static str; N]);

impl<'a, const N: usize> DeserializeSeed<'a> for Which<'_, N> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<const N: usize> Visitor<'_> for Which<'_, N> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| *wanted == name))
    }
}

struct Every;

impl<'a> DeserializeSeed<'a> for Every {
    type Value = Vec<(Cow<'a, str>, &'a RawValue)>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Every {
    type Value = Vec<(Cow<'a, str>, &'a RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(name) = map.next_key_seed(Name)? {
            all.push((name, map.next_value()?));
        }
        Ok(all)
    }
}

struct Name;

impl<'a> DeserializeSeed<'a> for Name {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Name {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'a str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

struct First(usize);

impl<'a> DeserializeSeed<'a> for First {
    type Value = Items<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

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

//! Deserializes JSON text to a component's value, directed by its shape and without a tree.
//!
//! The text is known to be JSON. Everything that its schema accepts is read, except for invalid
//! base64 and numbers that are too large.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::number;
use super::shape::{Shape, Sides};

/// Maximum values of one text; each takes tens of bytes, and a byte of a `list<u8>` is one, too.
const MAX_VALUES: usize = 1 << 20;

/// Padding is optional, since models omit it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Where a text does not match the shape, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON Pointer into the text.
    pub path: String,
    /// A fragment for people and models.
    pub reason: String,
}

/// The values of an object's members, in the order of the fields, and the number of values in
/// them.
///
/// # Errors
/// The first mismatch.
pub fn members(text: &str, fields: &[(String, Shape)]) -> Result<(Vec<Val>, usize), Mismatch> {
    let reading = Reading::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = deserializer.deserialize_map(Fields { fields, at: reading.root() });
    let read = read.and_then(|values| deserializer.end().map(|()| values));
    let values = read.map_err(|error| reading.mismatch(&error))?;
    Ok((values.into_iter().map(|(_, value)| value).collect(), MAX_VALUES - reading.left.get()))
}

/// One value.
///
/// # Errors
/// The first mismatch.
pub fn value(text: &str, shape: &Shape) -> Result<Val, Mismatch> {
    let reading = Reading::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = ValueSeed { shape, at: reading.root() }.deserialize(&mut deserializer);
    read.and_then(|value| deserializer.end().map(|()| value)).map_err(|error| reading.mismatch(&error))
}

/// The state of one reading.
struct Reading {
    /// The first mismatch recorded, which is the innermost.
    found: RefCell<Option<Mismatch>>,
    left: Cell<usize>,
}

impl Reading {
    fn new() -> Self {
        Self { found: RefCell::new(None), left: Cell::new(MAX_VALUES) }
    }

    fn root(&self) -> At<'_> {
        At { reading: self, above: None }
    }

    fn mismatch(&self, error: &serde_json::Error) -> Mismatch {
        self.found.take().unwrap_or_else(|| Mismatch { path: String::new(), reason: error.to_string() })
    }
}

/// A position in the text, as a path from the root.
#[derive(Clone, Copy)]
struct At<'a> {
    reading: &'a Reading,
    above: Option<(&'a At<'a>, Step<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

impl<'a> At<'a> {
    fn below(&'a self, step: Step<'a>) -> At<'a> {
        At { reading: self.reading, above: Some((self, step)) }
    }

    fn pointer(&self) -> String {
        let Some((above, step)) = self.above else { return String::new() };
        let mut pointer = above.pointer();
        match step {
            Step::Member(name) => pointer += &format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Element(index) => {
                let _ = write!(pointer, "/{index}");
            }
        }
        pointer
    }

    /// Records a mismatch here, unless one was recorded below.
    fn note(&self, reason: impl Into<String>) {
        let mut found = self.reading.found.borrow_mut();
        if found.is_none() {
            *found = Some(Mismatch { path: self.pointer(), reason: reason.into() });
        }
    }

    fn fail<T, E: serde::de::Error>(&self, reason: impl Into<String>) -> Result<T, E> {
        self.note(reason);
        Err(E::custom("mismatch"))
    }

    /// Counts values towards the maximum.
    fn take<E: serde::de::Error>(&self, values: usize) -> Result<(), E> {
        match self.reading.left.get().checked_sub(values) {
            Some(left) => {
                self.reading.left.set(left);
                Ok(())
            }
            None => self.fail(format!("it has more than {MAX_VALUES} values")),
        }
    }
}

/// Deserializes one value of a shape.
#[derive(Clone, Copy)]
struct ValueSeed<'a> {
    shape: &'a Shape,
    at: At<'a>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Val;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Val, D::Error> {
        let (shape, at) = (self.shape, self.at);
        at.take(1)?;
        let read = match shape {
            Shape::Bool => from.deserialize_bool(self),
            Shape::Integer(width) => raw(from).and_then(|text| match number::integer(text, *width) {
                Some(number) => Ok(number_of(number, *width)),
                None => at.fail(wanted(shape)),
            }),
            Shape::F32 => raw(from).and_then(|text| match number::f32(text) {
                Some(number) => Ok(Val::Float32(number)),
                None => at.fail(wanted(shape)),
            }),
            Shape::F64 => raw(from).and_then(|text| match number::f64(text) {
                Some(number) => Ok(Val::Float64(number)),
                None => at.fail(wanted(shape)),
            }),
            Shape::Char | Shape::String | Shape::Bytes | Shape::Enum(_) => from.deserialize_str(self),
            Shape::List(_) | Shape::Tuple(_) | Shape::Flags(_) => from.deserialize_seq(self),
            Shape::Option(_) => from.deserialize_option(self),
            Shape::Record(fields) => from.deserialize_map(Fields { fields, at }).map(Val::Record),
            Shape::Variant(_) | Shape::Result(_) => from.deserialize_map(self),
            Shape::Stream(whole) | Shape::Future(whole) => ValueSeed { shape: whole, at }.deserialize(from),
        };
        read.inspect_err(|_| at.note(wanted(shape)))
    }
}

/// The raw text of a value.
fn raw<'de, D: Deserializer<'de>>(from: D) -> Result<&'de str, D::Error> {
    <&RawValue as serde::Deserialize>::deserialize(from).map(|raw| raw.get())
}

fn number_of(number: i128, width: super::shape::Width) -> Val {
    use super::shape::Width;
    match width {
        Width::S8 => Val::S8(number as i8),
        Width::S16 => Val::S16(number as i16),
        Width::S32 => Val::S32(number as i32),
        Width::S64 => Val::S64(number as i64),
        Width::U8 => Val::U8(number as u8),
        Width::U16 => Val::U16(number as u16),
        Width::U32 => Val::U32(number as u32),
        Width::U64 => Val::U64(number as u64),
    }
}

/// Describes what a shape accepts, for error messages.
fn wanted(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "expected true or false".into(),
        Shape::Integer(width) => {
            let (min, max) = width.bounds();
            format!("expected an integer from {min} to {max}")
        }
        Shape::F32 => "expected a number in the range of a 32-bit float".into(),
        Shape::F64 => "expected a number in the range of a 64-bit float".into(),
        Shape::Char => "expected a string of one character".into(),
        Shape::String => "expected a string".into(),
        Shape::Bytes => "expected bytes as a base64 string".into(),
        Shape::List(_) => "expected an array".into(),
        Shape::Tuple(shapes) => format!("expected an array of {} elements", shapes.len()),
        Shape::Record(_) => "expected an object".into(),
        Shape::Variant(_) => "expected an object with the member \"tag\", and \"val\" if the case has a payload".into(),
        Shape::Enum(_) => "expected one of the strings in its schema".into(),
        Shape::Flags(_) => "expected an array of strings in its schema, each at most once".into(),
        Shape::Option(held) if held.is_nullable() => "expected null or an object with the member \"some\"".into(),
        Shape::Option(held) => format!("{}, or null", wanted(held)),
        Shape::Result(_) => "expected an object with the member \"ok\" or \"err\"".into(),
        Shape::Stream(whole) | Shape::Future(whole) => wanted(whole),
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Val;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(wanted(self.shape).trim_start_matches("expected "))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Val, E> {
        Ok(Val::Bool(value))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Val, E> {
        let mut characters = text.chars();
        match (self.shape, characters.next(), characters.next()) {
            (Shape::String, ..) => Ok(Val::String(text.to_owned())),
            (Shape::Char, Some(character), None) => Ok(Val::Char(character)),
            (Shape::Enum(names), ..) if names.iter().any(|name| name == text) => Ok(Val::Enum(text.to_owned())),
            (Shape::Bytes, ..) => {
                self.at.take(text.len() / 4 * 3)?;
                match BASE64.decode(text) {
                    Ok(bytes) => Ok(Val::List(bytes.into_iter().map(Val::U8).collect())),
                    Err(_) => self.at.fail(wanted(self.shape)),
                }
            }
            _ => self.at.fail(wanted(self.shape)),
        }
    }

    fn visit_none<E>(self) -> Result<Val, E> {
        Ok(Val::Option(None))
    }

    fn visit_unit<E>(self) -> Result<Val, E> {
        Ok(Val::Option(None))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Val, D::Error> {
        let Shape::Option(held) = self.shape else { return self.at.fail(wanted(self.shape)) };
        let value = if held.is_nullable() {
            from.deserialize_map(Single { cases: &[("some", Some(held))], at: self.at })?.1
        } else {
            Some(Box::new(ValueSeed { shape: held, at: self.at }.deserialize(from)?))
        };
        Ok(Val::Option(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Val, A::Error> {
        let Self { shape, at } = self;
        match shape {
            Shape::List(shape) => {
                let mut elements = Vec::new();
                while let Some(element) =
                    from.next_element_seed(ValueSeed { shape, at: at.below(Step::Element(elements.len())) })?
                {
                    elements.push(element);
                }
                Ok(Val::List(elements))
            }
            Shape::Tuple(shapes) => {
                let mut elements = Vec::new();
                for (index, shape) in shapes.iter().enumerate() {
                    let slot = ValueSeed { shape, at: at.below(Step::Element(index)) };
                    elements.push(from.next_element_seed(slot)?.ok_or_else(|| A::Error::custom("it is too short"))?);
                }
                match from.next_element::<IgnoredAny>()? {
                    None => Ok(Val::Tuple(elements)),
                    Some(_) => at.fail(wanted(shape)),
                }
            }
            Shape::Flags(names) => {
                let mut given = vec![false; names.len()];
                while let Some(name) = from.next_element::<std::borrow::Cow<'de, str>>()? {
                    match names.iter().position(|known| *known == name) {
                        Some(at) if !given[at] => given[at] = true,
                        _ => return at.fail(wanted(shape)),
                    }
                }
                let set = names.iter().zip(given).filter(|(_, given)| *given);
                Ok(Val::Flags(set.map(|(name, _)| name.clone()).collect()))
            }
            _ => at.fail(wanted(shape)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Val, A::Error> {
        let Self { shape, at } = self;
        match shape {
            Shape::Result(sides) => {
                let Sides { ok, err } = &**sides;
                let single = Single { cases: &[("ok", ok.as_ref()), ("err", err.as_ref())], at };
                let (case, held) = single.visit_map(from)?;
                Ok(Val::Result(if case == 0 { Ok(held) } else { Err(held) }))
            }
            Shape::Variant(cases) => {
                let (mut tag, mut val): (Option<String>, Option<&RawValue>) = (None, None);
                while let Some(name) = from.next_key::<String>()? {
                    match name.as_str() {
                        "tag" => tag = Some(from.next_value()?),
                        // The tag may come after the value.
                        "val" => val = Some(from.next_value()?),
                        _ => return at.below(Step::Member(&name)).fail("unknown member"),
                    }
                }
                let case = cases.iter().find(|(name, _)| tag.as_ref() == Some(name));
                match (case, val) {
                    (Some((name, None)), None) => Ok(Val::Variant(name.clone(), None)),
                    (Some((name, Some(shape))), Some(val)) => {
                        let held = at.below(Step::Member("val"));
                        let slot = ValueSeed { shape, at: held };
                        let read = slot.deserialize(&mut serde_json::Deserializer::from_str(val.get()));
                        let value = read.map_err(A::Error::custom)?;
                        Ok(Val::Variant(name.clone(), Some(Box::new(value))))
                    }
                    _ => at.fail(wanted(shape)),
                }
            }
            _ => at.fail(wanted(shape)),
        }
    }
}

/// The members of an object; the last of duplicates is used.
struct Fields<'a> {
    fields: &'a [(String, Shape)],
    at: At<'a>,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = Vec<(String, Val)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Self { fields, at } = self;
        let mut values: Vec<Option<Val>> = vec![None; fields.len()];
        while let Some(name) = from.next_key::<std::borrow::Cow<'de, str>>()? {
            let Some(index) = fields.iter().position(|(field, _)| *field == name) else {
                return at.below(Step::Member(&name)).fail("unknown member");
            };
            let (name, shape) = &fields[index];
            values[index] = Some(from.next_value_seed(ValueSeed { shape, at: at.below(Step::Member(name)) })?);
        }
        let filled = fields.iter().zip(values).map(|((name, shape), value)| match value {
            Some(value) => Ok((name.clone(), value)),
            None if shape.is_nullable() => Ok((name.clone(), Val::Option(None))),
            None => at.fail(format!("missing member {name:?}")),
        });
        filled.collect()
    }
}

/// An object with one member, whose name selects the shape of its value.
struct Single<'a> {
    cases: &'a [(&'a str, Option<&'a Shape>)],
    at: At<'a>,
}

impl<'de> Visitor<'de> for Single<'_> {
    type Value = (usize, Option<Box<Val>>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of one member")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Self { cases, at } = self;
        let mut found = None;
        while let Some(name) = from.next_key::<std::borrow::Cow<'de, str>>()? {
            let known = cases.iter().enumerate().find(|(_, (case, _))| *case == name);
            let Some((index, (name, shape))) =
                known.filter(|(index, _)| found.as_ref().is_none_or(|(at, _)| at == index))
            else {
                return at.below(Step::Member(&name)).fail("unexpected member");
            };
            let held = match shape {
                Some(shape) => Some(from.next_value_seed(ValueSeed { shape, at: at.below(Step::Member(name)) })?),
                None => from.next_value::<()>().map(|()| None)?,
            };
            found = Some((index, held.map(Box::new)));
        }
        found.ok_or_else(|| A::Error::custom("it has no member"))
    }
}

//! Parses params; errors name the path, which is only formatted for an error.
//! Unknown members are ignored, and an optional member that is null is absent.

use std::borrow::Cow;
use std::fmt::Display;

use serde_json::value::RawValue;

use super::error::{self, ErrorObject};
use crate::json::{self, Kind, MembersError, Object};

/// The params of one message, split into members once.
#[derive(Debug)]
pub struct Params<'a> {
    raw: Option<&'a RawValue>,
    /// No members if it is not an object.
    members: Result<Object<'a>, MembersError>,
}

impl<'a> Params<'a> {
    pub fn read(raw: Option<&'a RawValue>) -> Self {
        let object = raw.filter(|raw| Kind::of(raw) == Kind::Object);
        Self { raw, members: object.map_or_else(|| Ok(Object::default()), |object| Object::read(object.get())) }
    }

    /// -32602 for positional params.
    pub(super) fn require_named(&self) -> Result<(), ErrorObject> {
        object(self.raw, "params").map(|_| ())
    }

    pub(super) fn members<const N: usize>(
        &self,
        names: [&'static str; N],
    ) -> Result<[Option<&'a RawValue>; N], ErrorObject> {
        self.object()?.members(names).map_err(|fault| unreadable("params", &fault))
    }

    pub(super) fn object(&self) -> Result<&Object<'a>, ErrorObject> {
        self.members.as_ref().map_err(|fault| unreadable("params", fault))
    }
}

pub(super) fn unreadable(path: impl Display, fault: &MembersError) -> ErrorObject {
    error::invalid_params(path, &format!("cannot be read: {fault}"))
}

/// An optional member of the given kind; `path` is its own.
pub(crate) fn of_kind(
    value: Option<&RawValue>,
    kind: Kind,
    path: impl Display,
) -> Result<Option<&RawValue>, ErrorObject> {
    let Some(value) = value else { return Ok(None) };
    match Kind::of(value) {
        Kind::Null => Ok(None),
        found if found == kind => Ok(Some(value)),
        found => {
            let detail = format!("must be {}, not {}", kind.name(), found.name());
            Err(error::invalid_params(path, &detail))
        }
    }
}

pub(crate) fn object(value: Option<&RawValue>, path: impl Display) -> Result<Option<&RawValue>, ErrorObject> {
    of_kind(value, Kind::Object, path)
}

pub(crate) fn string<'a>(value: Option<&'a RawValue>, path: impl Display) -> Result<Option<Cow<'a, str>>, ErrorObject> {
    let Some(value) = of_kind(value, Kind::String, &path)? else {
        return Ok(None);
    };
    match json::string(value) {
        Some(text) => Ok(Some(text)),
        None => Err(error::invalid_params(path, "is not valid Unicode")),
    }
}

pub(crate) fn boolean(value: Option<&RawValue>, path: impl Display) -> Result<bool, ErrorObject> {
    Ok(of_kind(value, Kind::Bool, path)?.is_some_and(|value| value.get().trim() == "true"))
}

/// A required member.
pub(crate) fn required<T>(value: Option<T>, path: impl Display) -> Result<T, ErrorObject> {
    value.ok_or_else(|| error::invalid_params(path, "is required"))
}

/// The members called `names` of an object at `path`; all absent when it is.
pub(crate) fn members<'a, const N: usize>(
    object: Option<&'a RawValue>,
    names: [&'static str; N],
    path: impl Display,
) -> Result<[Option<&'a RawValue>; N], ErrorObject> {
    match object {
        None => Ok([None; N]),
        Some(object) => json::members(object.get(), names).map_err(|fault| unreadable(path, &fault)),
    }
}

/// An object whose values are all strings, in its own order.
pub(crate) fn strings(object: Option<&RawValue>, path: impl Display) -> Result<Vec<(String, String)>, ErrorObject> {
    let Some(object) = self::object(object, &path)? else {
        return Ok(Vec::new());
    };
    let entries = json::entries(object.get()).map_err(|fault| unreadable(&path, &fault))?;
    let mut seen = std::collections::HashSet::new();
    let mut strings = Vec::with_capacity(entries.len());
    for (name, value) in &entries {
        let at = format!("{path}.{name}");
        if !seen.insert(name) {
            return Err(error::invalid_params(&at, "is repeated"));
        }
        let Some(text) = json::string(value) else {
            let detail = format!("must be a string, not {}", Kind::of(value).name());
            return Err(error::invalid_params(&at, &detail));
        };
        strings.push((name.to_string(), text.into_owned()));
    }
    Ok(strings)
}

//! One line of a recording: what a guest asked or said, and what it was answered.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::kept::{Kept, bytes, member};

/// What a value costs besides its texts.
const OVERHEAD: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) struct Event {
    pub(super) kind: Kind,
    /// Which function of the host.
    pub(super) what: String,
    /// What it was asked, or told.
    pub(super) with: Value,
    /// `None`: there was no answer before the call ended.
    pub(super) gets: Option<Value>,
    /// The body of a request of HTTP, as far as it was sent.
    pub(super) sent: Option<Vec<u8>>,
    /// The body of the response, as far as it was read.
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::plugin) enum Kind {
    /// A question, which is answered.
    Asks,
    /// Something that is said.
    Says,
    /// A question about what is ready at a moment: it decides the order of what a guest does, and is not compared.
    Polls,
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::plugin) enum Part {
    Chunk(Bytes),
    /// Names and values.
    Trailers(Vec<(String, Vec<u8>)>),
    /// Why there is no more of it.
    Error(Value),
    End,
}

const KINDS: [(Kind, &str); 3] = [(Kind::Asks, "asks"), (Kind::Says, "says"), (Kind::Polls, "polls")];

impl Event {
    pub(super) fn asks(what: &str, with: Value, gets: Option<Value>) -> Self {
        Self { kind: Kind::Asks, what: what.to_owned(), with, gets, sent: None, parts: Vec::new() }
    }

    pub(super) fn says(what: &str, with: Value) -> Self {
        Self { kind: Kind::Says, ..Self::asks(what, with, None) }
    }

    /// Roughly, how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let parts: usize = self.parts.iter().map(Part::size).sum();
        let sent = self.sent.as_ref().map_or(0, Vec::len);
        OVERHEAD + self.what.len() + size(&self.with) + self.gets.as_ref().map_or(0, size) + sent + parts
    }

    /// The members of its line.
    pub(super) fn keep(&self) -> Value {
        let name = KINDS.iter().find(|(kind, _)| *kind == self.kind).map_or("asks", |(_, name)| name);
        let mut line = Map::from_iter([(name.to_owned(), self.what.as_str().into())]);
        let members = [
            ("with", (!self.with.is_null()).then(|| self.with.clone())),
            ("sends", self.sent.as_deref().map(bytes)),
            ("gets", self.gets.clone()),
            ("body", (!self.parts.is_empty()).then(|| self.parts.iter().map(Part::keep).collect())),
        ];
        line.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Value::Object(line)
    }

    /// `None`: it is no such line.
    pub(super) fn read(line: &Value) -> Option<Self> {
        let (kind, what) =
            KINDS.iter().find_map(|(kind, name)| Some((*kind, line.get(*name)?.as_str()?.to_owned())))?;
        let parts = match line.get("body") {
            Some(parts) => parts.as_array()?.iter().map(Part::read).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let sent = match line.get("sends") {
            Some(sent) => Some(Kept::read(sent)?),
            None => None,
        };
        Some(Self { kind, what, with: line["with"].clone(), gets: line.get("gets").cloned(), sent, parts })
    }
}

impl Part {
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Chunk(chunk) => OVERHEAD + chunk.len(),
            Self::Trailers(fields) => fields.iter().map(|(name, value)| OVERHEAD * 2 + name.len() + value.len()).sum(),
            Self::Error(error) => size(error),
            Self::End => OVERHEAD,
        }
    }

    fn keep(&self) -> Value {
        match self {
            Self::Chunk(chunk) => bytes(chunk),
            Self::Trailers(fields) => member("trailers", fields.keep()),
            Self::Error(error) => member("error", error.clone()),
            Self::End => member("end", true.into()),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        if let Some(bytes) = Vec::<u8>::read(value) {
            return Some(Self::Chunk(bytes.into()));
        }
        let (name, value) = value.as_object()?.iter().next()?;
        match name.as_str() {
            "trailers" => Some(Self::Trailers(Kept::read(value)?)),
            "error" => Some(Self::Error(value.clone())),
            "end" => Some(Self::End),
            _ => None,
        }
    }
}

/// Roughly, how many bytes a value takes.
pub(super) fn size(value: &Value) -> usize {
    OVERHEAD
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(members) => members.iter().map(|(name, value)| name.len() + size(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

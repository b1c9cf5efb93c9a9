//! Reads members of wasmcp's records by name.
//!
//! Unknown members are ignored: later versions add some.

use wasmtime::component::Val;

use crate::plugin::fault::Fault;
use crate::text::quote;

type ViewResult<T> = Result<T, Fault>;

/// A value with its name.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    value: &'a Val,
    name: &'a str,
}

impl<'a> View<'a> {
    pub(super) fn of(value: &'a Val, name: &'a str) -> Self {
        Self { value, name }
    }

    fn mismatch<T>(self) -> ViewResult<T> {
        Err(Fault::BadOutput(format!("{} that does not match wasmcp's type", quote(self.name, 60))))
    }

    /// A member, or `None` if the record has none of that name.
    fn member(self, name: &'a str) -> ViewResult<Option<Self>> {
        let Val::Record(members) = self.value else { return self.mismatch() };
        Ok(members.iter().find(|(member, _)| member == name).map(|(_, value)| Self { value, name }))
    }

    /// A required member.
    pub(super) fn at(self, name: &'a str) -> ViewResult<Self> {
        match self.member(name)? {
            Some(member) => Ok(member),
            None => self.mismatch(),
        }
    }

    /// The value of an optional member.
    pub(super) fn held(self, name: &'a str) -> ViewResult<Option<Self>> {
        self.member(name)?.map_or(Ok(None), Self::option)
    }

    pub(super) fn option(self) -> ViewResult<Option<Self>> {
        match self.value {
            Val::Option(held) => Ok(held.as_deref().map(|value| Self { value, ..self })),
            _ => self.mismatch(),
        }
    }

    pub(super) fn text(self) -> ViewResult<String> {
        match self.value {
            Val::String(text) | Val::Enum(text) => Ok(text.clone()),
            _ => self.mismatch(),
        }
    }

    pub(super) fn flag(self) -> ViewResult<bool> {
        match self.value {
            Val::Bool(flag) => Ok(*flag),
            _ => self.mismatch(),
        }
    }

    pub(super) fn number(self) -> ViewResult<u64> {
        match self.value {
            Val::U64(number) => Ok(*number),
            Val::U32(number) => Ok((*number).into()),
            _ => self.mismatch(),
        }
    }

    pub(super) fn fraction(self) -> ViewResult<f64> {
        match self.value {
            Val::Float64(number) => Ok(*number),
            _ => self.mismatch(),
        }
    }

    pub(super) fn bytes(self) -> ViewResult<Vec<u8>> {
        let Val::List(elements) = self.value else { return self.mismatch() };
        let byte = |element: &Val| if let Val::U8(byte) = element { Ok(*byte) } else { self.mismatch() };
        elements.iter().map(byte).collect()
    }

    /// Each element of a list.
    pub(super) fn each<T>(self, read: impl Fn(Self) -> ViewResult<T>) -> ViewResult<Vec<T>> {
        let Val::List(elements) = self.value else { return self.mismatch() };
        elements.iter().map(|value| read(Self { value, ..self })).collect()
    }

    /// The case of a variant, and its payload.
    pub(super) fn case(self) -> ViewResult<(&'a str, Self)> {
        match self.value {
            Val::Variant(name, held) => Ok((name, Self { value: held.as_deref().unwrap_or(self.value), name })),
            _ => self.mismatch(),
        }
    }

    // Optional members, by type.

    pub(super) fn maybe_text(self, name: &'a str) -> ViewResult<Option<String>> {
        self.held(name)?.map(Self::text).transpose()
    }

    pub(super) fn maybe_flag(self, name: &'a str) -> ViewResult<Option<bool>> {
        self.held(name)?.map(Self::flag).transpose()
    }

    pub(super) fn maybe_number(self, name: &'a str) -> ViewResult<Option<u64>> {
        self.held(name)?.map(Self::number).transpose()
    }

    pub(super) fn maybe_list<T>(self, name: &'a str, read: impl Fn(Self) -> ViewResult<T>) -> ViewResult<Vec<T>> {
        self.held(name)?.map_or(Ok(Vec::new()), |list| list.each(read))
    }
}

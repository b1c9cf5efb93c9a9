//! The type of a value as a tree, used for schemas, reading and writing.
//!
//! Types that share parts can expand from a kilobyte to a million nodes, so the tree's size is
//! limited.

use wasmtime::component::Type;

use super::parts;

/// Maximum nesting of types.
const MAX_DEPTH: usize = 32;
/// Maximum weight of all types of one function: bytes of names, and [`NODE`] per type.
const MAX_WEIGHT: usize = 64 << 10;
const NODE: usize = 16;
/// Why a stream or a future is not supported.
const CARRIED: &str = "has a stream or a future whose items are not numbers, booleans, characters, strings or bytes";

/// A type whose values can be written as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    Bool,
    Integer(Width),
    F32,
    F64,
    Char,
    String,
    /// `list<u8>`.
    Bytes,
    List(Box<Shape>),
    Tuple(Vec<Shape>),
    Record(Vec<(String, Shape)>),
    Variant(Vec<(String, Option<Shape>)>),
    Enum(Vec<String>),
    Flags(Vec<String>),
    Option(Box<Shape>),
    Result(Box<Sides>),
    /// As a whole, its items are a list.
    Stream(Box<Shape>),
    /// As a whole, it is its value.
    Future(Box<Shape>),
}

/// Integer types, by sign and bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    U64,
}

/// The payloads of a `result`: `ok` and `err`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sides {
    pub ok: Option<Shape>,
    pub err: Option<Shape>,
}

impl Width {
    /// The minimum and the maximum.
    pub fn bounds(self) -> (i128, i128) {
        let signed = |bits: u32| (-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
        let unsigned = |bits: u32| (0, (1 << bits) - 1);
        match self {
            Self::S8 => signed(8),
            Self::S16 => signed(16),
            Self::S32 => signed(32),
            Self::S64 => signed(64),
            Self::U8 => unsigned(8),
            Self::U16 => unsigned(16),
            Self::U32 => unsigned(32),
            Self::U64 => unsigned(64),
        }
    }
}

impl Shape {
    /// Whether `null` is one of its values, so that an option of it needs another encoding.
    pub fn is_nullable(&self) -> bool {
        match self {
            Self::Option(_) => true,
            Self::Future(whole) => whole.is_nullable(),
            _ => false,
        }
    }
}

/// Makes the shapes of one function.
pub(super) struct Shapes {
    left: usize,
}

impl Shapes {
    pub(super) fn of_one_function() -> Self {
        Self { left: MAX_WEIGHT }
    }

    /// The shape of a type.
    ///
    /// # Errors
    /// Why its values cannot be written as JSON, as a fragment that reads after "it".
    pub(super) fn shape(&mut self, kind: &Type) -> Result<Shape, String> {
        self.below(kind, 0)
    }

    fn below(&mut self, kind: &Type, depth: usize) -> Result<Shape, String> {
        if depth == MAX_DEPTH {
            return Err(format!("nests types more than {MAX_DEPTH} levels deep"));
        }
        self.take(NODE)?;
        let mut inner = |kind: &Type| self.below(kind, depth + 1);
        Ok(match kind {
            Type::Bool => Shape::Bool,
            Type::S8 => Shape::Integer(Width::S8),
            Type::S16 => Shape::Integer(Width::S16),
            Type::S32 => Shape::Integer(Width::S32),
            Type::S64 => Shape::Integer(Width::S64),
            Type::U8 => Shape::Integer(Width::U8),
            Type::U16 => Shape::Integer(Width::U16),
            Type::U32 => Shape::Integer(Width::U32),
            Type::U64 => Shape::Integer(Width::U64),
            Type::Float32 => Shape::F32,
            Type::Float64 => Shape::F64,
            Type::Char => Shape::Char,
            Type::String => Shape::String,
            Type::List(list) => match list.ty() {
                Type::U8 => Shape::Bytes,
                element => Shape::List(Box::new(inner(&element)?)),
            },
            Type::Option(option) => Shape::Option(Box::new(inner(&option.ty())?)),
            Type::Result(result) => Shape::Result(Box::new(Sides {
                ok: result.ok().as_ref().map(&mut inner).transpose()?,
                err: result.err().as_ref().map(&mut inner).transpose()?,
            })),
            Type::Tuple(tuple) => Shape::Tuple(tuple.types().map(|kind| inner(&kind)).collect::<Result<_, _>>()?),
            Type::Record(record) => {
                let mut fields = Vec::new();
                for field in record.fields() {
                    fields.push((self.name(field.name)?, self.below(&field.ty, depth + 1)?));
                }
                Shape::Record(fields)
            }
            Type::Variant(variant) => {
                let mut cases = Vec::new();
                for case in variant.cases() {
                    let held = case.ty.as_ref().map(|kind| self.below(kind, depth + 1)).transpose()?;
                    cases.push((self.name(case.name)?, held));
                }
                Shape::Variant(cases)
            }
            Type::Enum(names) => Shape::Enum(names.names().map(|name| self.name(name)).collect::<Result<_, _>>()?),
            Type::Flags(names) => Shape::Flags(names.names().map(|name| self.name(name)).collect::<Result<_, _>>()?),
            Type::Own(_) | Type::Borrow(_) => {
                return Err("has a resource handle, which cannot be written as JSON".into());
            }
            Type::Stream(stream) => {
                let item = stream.ty().as_ref().map(&mut inner).transpose()?.filter(parts::may_carry);
                Shape::Stream(Box::new(match item.ok_or(CARRIED)? {
                    Shape::Integer(Width::U8) => Shape::Bytes,
                    item => Shape::List(Box::new(item)),
                }))
            }
            Type::Future(future) => {
                let value = future.ty().as_ref().map(&mut inner).transpose()?.filter(parts::may_carry);
                Shape::Future(Box::new(value.ok_or(CARRIED)?))
            }
            Type::ErrorContext => return Err("has an error-context, which cannot be written as JSON".into()),
            Type::Map(_) | Type::FixedLengthList(_) => {
                return Err("has a map or a list of a fixed length, which are not supported".into());
            }
        })
    }

    pub(super) fn name(&mut self, name: &str) -> Result<String, String> {
        self.take(NODE + name.len())?;
        Ok(name.to_owned())
    }

    fn take(&mut self, weight: usize) -> Result<(), String> {
        let left = self.left.checked_sub(weight);
        self.left = left.ok_or_else(|| format!("has types of more than {MAX_WEIGHT} bytes in all"))?;
        Ok(())
    }
}

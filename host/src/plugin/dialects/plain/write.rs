//! Serializes a component's value to JSON text, without a tree.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wasmtime::component::Val;

use super::shape::Shape;
use crate::json::write_str;

/// Why a value was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteError {
    /// Its text is larger than the limit.
    TooLarge,
    /// It does not match the shape.
    Mismatch,
}

/// The JSON text of a value, of at most about `limit` bytes.
///
/// # Errors
/// If it is larger, or does not match the shape, which the engine's type check rules out.
pub fn write(value: &Val, shape: &Shape, limit: usize) -> Result<String, WriteError> {
    let mut writer = JsonWriter { out: String::new(), limit };
    writer.value(value, shape)?;
    Ok(writer.out)
}

struct JsonWriter {
    out: String,
    limit: usize,
}

impl JsonWriter {
    fn value(&mut self, value: &Val, shape: &Shape) -> Result<(), WriteError> {
        match (shape, value) {
            (Shape::Bool, Val::Bool(value)) => self.put(if *value { "true" } else { "false" }),
            (Shape::Integer(_), Val::S8(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::S16(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::S32(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::S64(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::U8(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::U16(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::U32(value)) => self.put(&value.to_string()),
            (Shape::Integer(_), Val::U64(value)) => self.put(&value.to_string()),
            // The shortest digits that parse to this number, with an exponent if there would be many.
            (Shape::F32, Val::Float32(value)) if value.is_finite() => self.put(&format!("{value:?}")),
            (Shape::F32, Val::Float32(value)) => self.not_a_number(f64::from(*value)),
            (Shape::F64, Val::Float64(value)) if value.is_finite() => self.put(&format!("{value:?}")),
            (Shape::F64, Val::Float64(value)) => self.not_a_number(*value),
            (Shape::Char, Val::Char(value)) => self.text(value.encode_utf8(&mut [0; 4])),
            (Shape::String, Val::String(value)) => self.text(value),
            (Shape::Bytes, Val::List(elements)) => self.bytes(elements),
            (Shape::List(shape), Val::List(elements)) => {
                self.list(elements.iter(), |writer, element| writer.value(element, shape))
            }
            (Shape::Tuple(shapes), Val::Tuple(elements)) if shapes.len() == elements.len() => {
                self.list(elements.iter().zip(shapes), |writer, (element, shape)| writer.value(element, shape))
            }
            (Shape::Record(shapes), Val::Record(fields)) if shapes.len() == fields.len() => {
                self.put("{")?;
                for (at, ((name, shape), (_, value))) in shapes.iter().zip(fields).enumerate() {
                    if at > 0 {
                        self.put(",")?;
                    }
                    self.text(name)?;
                    self.put(":")?;
                    self.value(value, shape)?;
                }
                self.put("}")
            }
            (Shape::Variant(cases), Val::Variant(name, value)) => {
                let held = cases.iter().find(|(case, _)| case == name).ok_or(WriteError::Mismatch)?;
                self.put(r#"{"tag":"#)?;
                self.text(name)?;
                if let Some(shape) = &held.1 {
                    self.put(r#","val":"#)?;
                    self.held(value.as_deref(), Some(shape))?;
                }
                self.put("}")
            }
            (Shape::Enum(_), Val::Enum(name)) => self.text(name),
            (Shape::Flags(_), Val::Flags(names)) => self.list(names.iter(), |writer, name| writer.text(name)),
            (Shape::Option(_), Val::Option(None)) => self.put("null"),
            (Shape::Option(shape), Val::Option(Some(value))) if shape.is_nullable() => {
                self.single("some", Some(value), Some(shape))
            }
            (Shape::Option(shape), Val::Option(Some(value))) => self.value(value, shape),
            (Shape::Result(sides), Val::Result(Ok(value))) => self.single("ok", value.as_deref(), sides.ok.as_ref()),
            (Shape::Result(sides), Val::Result(Err(value))) => self.single("err", value.as_deref(), sides.err.as_ref()),
            (Shape::Stream(whole) | Shape::Future(whole), value) => self.value(value, whole),
            _ => Err(WriteError::Mismatch),
        }
    }

    fn put(&mut self, text: &str) -> Result<(), WriteError> {
        self.out.push_str(text);
        self.fits(0)
    }

    fn fits(&self, more: usize) -> Result<(), WriteError> {
        if self.out.len() + more > self.limit { Err(WriteError::TooLarge) } else { Ok(()) }
    }

    fn text(&mut self, text: &str) -> Result<(), WriteError> {
        self.fits(text.len())?;
        write_str(&mut self.out, text);
        Ok(())
    }

    fn bytes(&mut self, elements: &[Val]) -> Result<(), WriteError> {
        self.fits(elements.len())?;
        let byte = |element: &Val| match element {
            Val::U8(byte) => Ok(*byte),
            _ => Err(WriteError::Mismatch),
        };
        let bytes = elements.iter().map(byte).collect::<Result<Vec<u8>, _>>()?;
        self.put("\"")?;
        STANDARD.encode_string(bytes, &mut self.out);
        self.put("\"")
    }

    fn list<T>(
        &mut self,
        elements: impl Iterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        self.put("[")?;
        for (at, element) in elements.enumerate() {
            if at > 0 {
                self.put(",")?;
            }
            write(self, element)?;
        }
        self.put("]")
    }

    fn single(&mut self, name: &str, value: Option<&Val>, shape: Option<&Shape>) -> Result<(), WriteError> {
        self.put("{")?;
        self.text(name)?;
        self.put(":")?;
        self.held(value, shape)?;
        self.put("}")
    }

    fn held(&mut self, value: Option<&Val>, shape: Option<&Shape>) -> Result<(), WriteError> {
        match (value, shape) {
            (Some(value), Some(shape)) => self.value(value, shape),
            (None, None) => self.put("null"),
            _ => Err(WriteError::Mismatch),
        }
    }

    fn not_a_number(&mut self, value: f64) -> Result<(), WriteError> {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        self.text(name)
    }
}

//! How sizes are written in the file: `64MiB`, `16KiB` or `1500`.

use std::fmt;

use bytesize::ByteSize;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// Writes sizes as `64MiB`, `16KiB` or `1500`.
pub(super) fn serialize<S: Serializer>(
    size: &(impl Copy + Into<Option<ByteSize>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bytes = (*size).into().map_or(0, |size| size.as_u64());
    match bytes {
        0 => serializer.serialize_u64(0),
        _ if bytes.is_multiple_of(1 << 20) => serializer.collect_str(&format_args!("{}MiB", bytes >> 20)),
        _ if bytes.is_multiple_of(1 << 10) => serializer.collect_str(&format_args!("{}KiB", bytes >> 10)),
        _ => serializer.serialize_u64(bytes),
    }
}

/// A size with its unit, such as `64MiB`.
pub(super) fn parse(text: &str) -> Option<ByteSize> {
    text.parse().ok().filter(|_| text.contains(|c: char| c.is_ascii_alphabetic()))
}

/// Reads a size such as `64MiB`, or a number of bytes. A number in quotes without a unit is neither.
pub(super) fn deserialize<'de, D: Deserializer<'de>, T: From<ByteSize>>(deserializer: D) -> Result<T, D::Error> {
    struct Size;

    impl Visitor<'_> for Size {
        type Value = ByteSize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a size")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
            parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }

        fn visit_u64<E>(self, bytes: u64) -> Result<ByteSize, E> {
            Ok(ByteSize(bytes))
        }

        fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
            let size = u64::try_from(bytes).map(ByteSize);
            size.map_err(|_| E::invalid_value(Unexpected::Signed(bytes), &self))
        }
    }

    deserializer.deserialize_any(Size).map(T::from)
}

//! What a file is, by its first bytes.

use wasmparser::Encoding;

use crate::plugin::error::LoadError;

/// Whether the bytes start with the header of a component or of a core module.
///
/// # Errors
/// What they are instead.
pub(in crate::plugin) fn classify(bytes: &[u8]) -> Result<Encoding, LoadError> {
    if bytes.is_empty() {
        return Err(LoadError::Empty);
    }
    if let Some(version) = bytes.strip_prefix(b"\0asm") {
        return match version {
            [0x0d, 0, 1, 0, ..] => Ok(Encoding::Component),
            [_, 0, 0, 0, ..] => Ok(Encoding::Module),
            [_, _, _, _, ..] => Err(LoadError::UnknownVersion),
            _ => Err(LoadError::Invalid("it ends within its header".into())),
        };
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(LoadError::Precompiled);
    }
    let start = &bytes[..bytes.len().min(1024)];
    Err(match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_some() => LoadError::NotWasm,
        _ if start.contains(&0) => LoadError::NotWasm,
        _ if start.trim_ascii_start().starts_with(b"<") => LoadError::Html,
        _ => LoadError::Text,
    })
}

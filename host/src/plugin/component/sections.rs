//! Iterates over the outermost sections of a module or component, without parsing them.

use wasmparser::{BinaryReader, CustomSectionReader};

const HEADER: usize = 8;
const CUSTOM: u8 = 0;

/// Each section's id and content, up to the first damaged one.
fn sections(wasm: &[u8]) -> impl Iterator<Item = (u8, BinaryReader<'_>)> {
    let mut reader = BinaryReader::new(wasm.get(HEADER..).unwrap_or_default(), HEADER);
    std::iter::from_fn(move || {
        let id = reader.read_u8().ok()?;
        Some((id, reader.read_reader().ok()?))
    })
}

/// The names and contents of the custom sections.
pub(in crate::plugin) fn custom_sections(wasm: &[u8]) -> impl Iterator<Item = CustomSectionReader<'_>> {
    sections(wasm).filter(|(id, _)| *id == CUSTOM).filter_map(|(_, content)| CustomSectionReader::new(content).ok())
}

/// The content of the first custom section of that name.
pub(in crate::plugin) fn custom_section<'a>(wasm: &'a [u8], name: &str) -> Option<&'a [u8]> {
    custom_sections(wasm).find(|section| section.name() == name).map(|section| section.data())
}

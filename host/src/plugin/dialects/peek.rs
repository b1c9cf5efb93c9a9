//! Whether a file would offer completions, according to its component's export section.
//!
//! Never fails: a file that cannot be read or is not a component has none. The sections before that
//! one are skipped, so it takes a few reads however large the file is.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use wasmparser::{BinaryReader, ComponentExportSectionReader};

use super::ALL;
use crate::plugin::component::file;

/// Component binary format, version 0xd, layer 1.
const HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";
const EXPORTS: u8 = 11;
/// Maximum sections skipped; toolchains make some hundreds.
const MAX_SECTIONS: usize = 10_000;
/// Maximum bytes of an export section; one name takes some tens.
const MAX_SECTION: u64 = 64 << 10;

/// Whether a component in that file exports the interface.
pub fn exports_completions(path: &Path) -> bool {
    file::open(path).ok().and_then(|(file, _)| find(BufReader::new(file))).is_some()
}

fn find(mut file: BufReader<File>) -> Option<()> {
    let mut header = [0; HEADER.len()];
    file.read_exact(&mut header).ok()?;
    if header != HEADER {
        return None;
    }
    for _ in 0..MAX_SECTIONS {
        let id = byte(&mut file)?;
        let size = leb128(&mut file)?;
        if id != EXPORTS {
            file.seek_relative(size.into()).ok()?;
            continue;
        }
        let mut section = Vec::new();
        file.by_ref().take(MAX_SECTION.min(size.into())).read_to_end(&mut section).ok()?;
        if section.len() as u64 != u64::from(size) {
            return None;
        }
        for export in ComponentExportSectionReader::new(BinaryReader::new(&section, 0)).ok()? {
            let name = export.ok()?.name.name;
            if ALL.iter().any(|dialect| (dialect.completes)(name)) {
                return Some(());
            }
        }
    }
    None
}

fn byte(file: &mut BufReader<File>) -> Option<u8> {
    let mut byte = [0];
    file.read_exact(&mut byte).ok()?;
    Some(byte[0])
}

/// A LEB128 `u32`.
fn leb128(file: &mut BufReader<File>) -> Option<u32> {
    let mut number = 0u64;
    for shift in (0..35).step_by(7) {
        let byte = byte(file)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests;

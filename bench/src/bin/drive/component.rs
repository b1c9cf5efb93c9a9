//! Components made by appending a section to an existing one: a custom section, which changes only
//! the digest, or a core module, which is compiled and never used.

use std::fs::File;
use std::io::{self, Read as _};

const CUSTOM_SECTION: u8 = 0;
const CORE_MODULE_SECTION: u8 = 1;
const NAME: &str = "bench";

/// The component with 16 random bytes in a custom section at its end.
pub fn with_new_digest(component: &[u8]) -> io::Result<Vec<u8>> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let mut content = Vec::new();
    leb128(NAME.len(), &mut content);
    content.extend(NAME.as_bytes());
    content.extend(random);
    Ok(with_section(component, CUSTOM_SECTION, &content))
}

/// The component with that core module at its end.
pub fn with_module(component: &[u8], module: &[u8]) -> Vec<u8> {
    with_section(component, CORE_MODULE_SECTION, module)
}

fn with_section(component: &[u8], id: u8, content: &[u8]) -> Vec<u8> {
    let mut extended = component.to_vec();
    extended.push(id);
    leb128(content.len(), &mut extended);
    extended.extend(content);
    extended
}

fn leb128(mut n: usize, into: &mut Vec<u8>) {
    while n >= 0x80 {
        into.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    into.push(n as u8);
}

#[cfg(test)]
mod tests;

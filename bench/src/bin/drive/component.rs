//! Components that are new to the host: the bytes of one that exists with a section that
//! nobody reads, so that the digest differs and nothing else.
//! It does not parse what it extends.

use std::fs::File;
use std::io::{self, Read as _};

const CUSTOM_SECTION: u8 = 0;
const NAME: &str = "bench";

/// The component with 16 random bytes in a custom section at its end.
pub fn renewed(component: &[u8]) -> io::Result<Vec<u8>> {
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(with_section(component, &random))
}

fn with_section(component: &[u8], content: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    leb128(NAME.len(), &mut body);
    body.extend(NAME.as_bytes());
    body.extend(content);
    let mut extended = component.to_vec();
    extended.push(CUSTOM_SECTION);
    leb128(body.len(), &mut extended);
    extended.extend(body);
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

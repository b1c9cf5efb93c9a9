//! How long a text goes on with nothing in it that JSON treats apart.
//! It is looked at in blocks, which the compiler makes vector instructions of.

const BLOCK: usize = 32;

/// Whether a byte ends the plain part of a string: a quote, a backslash, a control character.
const fn ends(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Bytes up to the first that is a quote, a backslash or a control character.
pub(super) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        // Without a way out, so that all are compared at once.
        if block.iter().fold(false, |found, byte| found | ends(*byte)) {
            break;
        }
        at += BLOCK;
    }
    at + bytes[at..].iter().position(|byte| ends(*byte)).unwrap_or(bytes.len() - at)
}

#[test]
fn it_stops_where_it_must() {
    let reference = |bytes: &[u8]| bytes.iter().position(|byte| ends(*byte)).unwrap_or(bytes.len());
    for length in 0..100 {
        let text = vec![b'a'; length];
        assert_eq!(plain(&text), length);
        for at in 0..length {
            for byte in 0..=u8::MAX {
                let mut text = text.clone();
                text[at] = byte;
                assert_eq!(plain(&text), reference(&text), "{byte} at {at} of {length}");
            }
        }
    }
}

//! Finds the next byte of a string that needs escaping.
//! Scans in blocks, which the compiler vectorizes, and the remainder eight bytes at a time.

const BLOCK: usize = 32;

/// Whether a byte ends the plain part of a string: a quote, a backslash, a control character.
const fn ends(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Bytes up to the first that is a quote, a backslash or a control character.
pub(super) fn plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        // Without an early exit, so that the loop is vectorized.
        if block.iter().fold(false, |found, byte| found | ends(*byte)) {
            break;
        }
        at += BLOCK;
    }
    let (words, rest) = bytes[at..].as_chunks();
    for word in words {
        if let Some(found) = first_end(u64::from_le_bytes(*word)) {
            return at + found;
        }
        at += word.len();
    }
    at + rest.iter().position(|byte| ends(*byte)).unwrap_or(rest.len())
}

/// The index of the first of eight bytes that ends a plain part. The subtraction sets the highest bit of
/// each byte that matches; borrows make marks above the first one unreliable.
fn first_end(word: u64) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    let below = |bytes: u64, least: u64| bytes.wrapping_sub(ONES * least) & !bytes;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let marks = (below(word, 0x20) | equal(b'"') | equal(b'\\')) & (ONES << 7);
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}

#[test]
fn it_finds_the_first_byte_that_needs_escaping() {
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

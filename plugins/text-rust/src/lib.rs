//! Tools for text: hashes, base64, regular expressions, diffs and JSON pointers.

mod diff;
mod hash;
mod pointer;
mod replace;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use wharf_plugin::*;

struct Text;

impl Plugin for Text {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add(
                "hash",
                "Computes the SHA-256 or BLAKE3 digest of a text (its UTF-8 bytes), in hexadecimal. \
                 Use it to compare or fingerprint texts; models cannot do this by themselves.",
                hash::hash,
            )
            .title("Hash text")
            .read_only();
        tools
            .add(
                "base64",
                "Encodes a text as base64, or decodes base64 to text. \
                 Takes the standard and the URL-safe alphabet, with or without padding.",
                base64,
            )
            .title("Base64")
            .read_only();
        tools
            .add("replace", "Finds a regular expression in a text and replaces what it matches; says how often. \
                 The replacement may name groups as $1 or ${name}. Time is linear in the text, whatever the expression.",
                 replace::replace)
            .title("Find and replace")
            .read_only();
        tools
            .add(
                "diff",
                "Compares two texts line by line and gives a unified diff, as `diff -u` and git do.",
                diff::diff,
            )
            .title("Unified diff")
            .read_only();
        tools
            .add(
                "pointer",
                "Gets one value out of a JSON document by JSON Pointer (RFC 6901), such as /users/0/name. \
                 Numbers and the order of members stay as they were written.",
                pointer::pointer,
            )
            .title("JSON pointer")
            .read_only();
    }
}

export!(Text);

/// What to do with the text.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Encode,
    Decode,
}

#[derive(Deserialize, JsonSchema)]
struct Base64 {
    /// The text to encode, or the base64 to decode.
    text: String,
    /// Whether to encode or to decode.
    direction: Direction,
    /// Encode with the alphabet for URLs and file names (- and _ for + and /).
    #[serde(default)]
    url_safe: bool,
}

fn base64(_: &Call, args: Base64) -> Result<String> {
    match args.direction {
        Direction::Encode if args.url_safe => Ok(URL_SAFE.encode(args.text)),
        Direction::Encode => Ok(STANDARD.encode(args.text)),
        Direction::Decode => decode(&args.text),
    }
}

fn decode(text: &str) -> Result<String> {
    use base64::alphabet::STANDARD as ALPHABET;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    // Line breaks are common in base64; both alphabets are read as one.
    let plain: String = text
        .chars()
        .filter(|letter| !letter.is_ascii_whitespace())
        .map(|letter| match letter {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    let bytes = GeneralPurpose::new(&ALPHABET, config)
        .decode(plain)
        .map_err(|error| Error::invalid("/text", format!("is not base64: {error}")))?;
    let length = bytes.len();
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid("/text", format!("holds {length} bytes that are not UTF-8 text")))
}

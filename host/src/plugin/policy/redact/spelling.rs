//! A regex of all usual encodings of a secret: each character as it is, or as JSON, URLs and
//! HTML encode it; and the whole secret in base64 and in hexadecimal.
//!
//! A secret is visible ASCII, and so are all encodings.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Characters of a secret that are searched in all encodings. After those, letters and digits
/// are expected verbatim, which bounds the size of the pattern; no format has to encode them.
const MAX_ENCODED_CHARS: usize = 512;
/// The length of a character's longest encoding, as far as split lines are concerned:
/// `\u0026amp;VerticalLine;`.
pub(super) const MAX_GROWTH: usize = 24;

/// Spaces of all kinds, and blank braille, in UTF-8 and as escapes.
const UNUSUAL_SPACE: &str = r" |\xC2\xA0|\xE1\x9A\x80|\xE2\x80[\x80-\x8A\xAF]|\xE2\x81\x9F|\xE2\xA0\x80|\xE3\x80\x80|\\+u(?:00[aA]0|1680|20(?:0[0-9aA]|2[fF]|5[fF])|2800|3000)";

/// The pattern of one secret.
pub(super) fn pattern(value: &str) -> String {
    let mut spelt = String::new();
    for (at, byte) in value.bytes().enumerate() {
        if at < MAX_ENCODED_CHARS || !byte.is_ascii_alphanumeric() {
            character(byte, &mut spelt);
        } else {
            spelt.push(char::from(byte));
        }
    }
    let mut alternatives = vec![spelt, hexadecimal(value)];
    alternatives.extend(base64(value));
    alternatives.join("|")
}

/// One character in all its encodings.
fn character(byte: u8, into: &mut String) {
    let plain = regex::escape(char::from(byte).encode_utf8(&mut [0; 4]));
    // A string in a string is escaped again: any number of backslashes.
    let plain = match byte {
        b'\\' => r"\\+".to_owned(),
        b'"' | b'\'' | b'/' => format!(r"\\*{plain}"),
        // These replace unusual spaces, see `text::drop_hidden`.
        b' ' => UNUSUAL_SPACE.to_owned(),
        b'\n' => r"\n|\xE2\x80[\xA8\xA9]|\\+u202[89]|\\+n".to_owned(),
        _ => plain,
    };
    let digits = hex_digits(byte);
    // `%25` is the percent sign of a URL within a URL, and `\u0026` the ampersand of
    // HTML within JSON. Letters and digits are not encoded so, and patterns are large.
    let ampersand = if byte.is_ascii_alphanumeric() { "&" } else { r"(?:&|\\+u0026)" };
    // Browsers accept numeric, and some named, references without a semicolon.
    let _ = write!(
        into,
        r"(?:{plain}|%(?:25)?{digits}|\\+u00{digits}|\\+x{digits}|{ampersand}(?:amp;)?(?:#0*{byte}|#[xX]0*{digits}"
    );
    for name in names(byte) {
        *into += "|";
        *into += name;
    }
    *into += ");?)";
}

/// A character's named references in HTML.
/// Source: <https://html.spec.whatwg.org/multipage/named-characters.html>
fn names(byte: u8) -> &'static [&'static str] {
    match byte {
        b'\t' => &["Tab"],
        b'\n' => &["NewLine"],
        b'!' => &["excl"],
        b'"' => &["quot", "QUOT"],
        b'#' => &["num"],
        b'$' => &["dollar"],
        b'%' => &["percnt"],
        b'&' => &["amp", "AMP"],
        b'\'' => &["apos"],
        b'(' => &["lpar"],
        b')' => &["rpar"],
        b'*' => &["ast", "midast"],
        b'+' => &["plus"],
        b',' => &["comma"],
        b'.' => &["period"],
        b'/' => &["sol"],
        b':' => &["colon"],
        b';' => &["semi"],
        b'<' => &["lt", "LT"],
        b'=' => &["equals"],
        b'>' => &["gt", "GT"],
        b'?' => &["quest"],
        b'@' => &["commat"],
        b'[' => &["lsqb", "lbrack"],
        b'\\' => &["bsol"],
        b']' => &["rsqb", "rbrack"],
        b'^' => &["Hat"],
        b'_' => &["lowbar", "UnderBar"],
        b'`' => &["grave", "DiacriticalGrave"],
        b'{' => &["lcub", "lbrace"],
        b'|' => &["verbar", "vert", "VerticalLine"],
        b'}' => &["rcub", "rbrace"],
        _ => &[],
    }
}

fn hex_digits(byte: u8) -> String {
    let digit = |digit: u8| match digit {
        0..=9 => char::from(b'0' + digit).to_string(),
        _ => format!("[{}{}]", char::from(b'a' + digit - 10), char::from(b'A' + digit - 10)),
    };
    digit(byte >> 4) + &digit(byte & 15)
}

/// Plain, and with the separators that tools write between bytes.
fn hexadecimal(value: &str) -> String {
    value.bytes().map(hex_digits).collect::<Vec<_>>().join("[ :-]?")
}

/// Of the secret alone, and as part of a longer text, such as `user:secret`: the digits that depend on
/// the secret only. In the standard and the URL-safe alphabet, also encoded as JSON and URLs do.
fn base64(value: &str) -> impl Iterator<Item = String> {
    let whole = STANDARD_NO_PAD.encode(value);
    let inner = (0..3).map(move |before: usize| {
        let whole = STANDARD_NO_PAD.encode([&vec![0; before], value.as_bytes()].concat());
        let (first, last) = ((before * 8).div_ceil(6), (before + value.len()) * 8 / 6);
        whole[first..last].to_owned()
    });
    [whole].into_iter().chain(inner.collect::<Vec<_>>()).map(|digits| {
        digits
            .chars()
            .map(|digit| match digit {
                '+' => r"(?:[+-]|%2[bB]|\\+u002[bB])".to_owned(),
                '/' => r"(?:\\*/|_|%2[fF]|\\+u002[fF])".to_owned(),
                digit => digit.into(),
            })
            .collect()
    })
}

//! URIs of files in a skill, and their media types.

use std::fmt::Write as _;

/// The media type of `SKILL.md`.
pub const MARKDOWN: &str = "text/markdown";
const BINARY: &str = "application/octet-stream";

/// Media types by the end of a file's name.
const TYPES: [(&str, &str); 18] = [
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("md", MARKDOWN),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The media type of a file. One that is not known is plain text if it can be.
pub(super) fn media_type(path: &str, is_text: bool) -> &'static str {
    let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
    let known = ending.and_then(|ending| TYPES.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)));
    match known {
        Some((_, media_type)) if is_text || !media_type.starts_with("text/") => media_type,
        None if is_text => "text/plain",
        _ => BINARY,
    }
}

/// A path as the path of a URI: everything is percent-encoded that may not be in a segment (RFC 3986, `pchar`).
pub(super) fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// The path that a URI's path stands for, however clients encode it. `None`: none of a file here.
pub(super) fn decoded(uri: &str) -> Option<String> {
    let mut path = Vec::with_capacity(uri.len());
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'?' | b'#' => return None,
            b'%' => {
                let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                match u8::try_from(high << 4 | low).ok()? {
                    // A slash within a segment is not one between two.
                    b'/' => return None,
                    byte => byte,
                }
            }
            byte => byte,
        };
        path.push(byte);
    }
    String::from_utf8(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_encoded_and_read_in_any_encoding() {
        for (path, uri) in [
            ("references/a b.md", "references/a%20b.md"),
            ("ä%/x+y.txt", "%C3%A4%25/x+y.txt"),
            ("plain-1.0_~.md", "plain-1.0_~.md"),
        ] {
            assert_eq!(encoded(path), uri);
            assert_eq!(decoded(uri).as_deref(), Some(path));
        }
        assert_eq!(decoded("%70lain").as_deref(), Some("plain"));
        for bad in ["a%2Fb", "a%2fb", "%", "%4", "%zz", "%FF", "a?b", "a#b"] {
            assert_eq!(decoded(bad), None, "{bad}");
        }
    }

    #[test]
    fn media_types_are_by_the_name_or_else_by_the_content() {
        assert_eq!(media_type("SKILL.md", true), "text/markdown");
        assert_eq!(media_type("a/B.PNG", false), "image/png");
        assert_eq!(media_type("scripts/run", true), "text/plain");
        assert_eq!(media_type("SKILL.md", false), "application/octet-stream");
        assert_eq!(media_type("a.b/data", false), "application/octet-stream");
    }
}

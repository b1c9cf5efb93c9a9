//! How entries are messages: subjects of keys, and headers.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::api::Stored;
use super::parts::Parts;
use super::wire::header;

/// Milliseconds since 1970; the server of many releases cannot expire single messages.
pub(super) const EXPIRES: &str = "Wharf-Expires";
/// Where the value is, if it is not in the message.
pub(super) const PARTS: &str = "Wharf-Parts";
/// The condition of a write: the number of the last message of the subject, or 0 if there must be none.
pub(super) const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// What tools of NATS call it; a message with it says that the key is gone.
pub(super) const OPERATION: &str = "KV-Operation";
pub(super) const DELETE: &str = "DEL";
const PURGE: &str = "PURGE";

/// The last token of the subject of a key: other bytes than letters, digits, `/`, `_` and `-` are `=XX`, so that it is one
/// token, without wildcards, and a key as tools of NATS allow it. The empty key, which is never written, has one too.
pub(super) fn token(key: &str) -> String {
    if key.is_empty() {
        return "=".into();
    }
    let mut token = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || b"/_-".contains(&byte) {
            token.push(byte.into());
        } else {
            // Writing to a text does not fail.
            let _ = write!(token, "={byte:02X}");
        }
    }
    token
}

/// The key of a token; `None` if none has it.
pub(super) fn key(token: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut parts = token.split('=');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    let key = String::from_utf8(bytes).ok()?;
    (self::token(&key) == token).then_some(key)
}

/// What the headers of an entry say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// It says that the key is gone.
    pub(super) is_removed: bool,
    pub(super) expires: Option<u64>,
    pub(super) parts: Option<Parts>,
}

impl Head {
    pub(super) fn of(headers: &[u8]) -> Self {
        let operation = header(headers, OPERATION);
        Self {
            is_removed: matches!(operation, Some(DELETE | PURGE)),
            expires: header(headers, EXPIRES).and_then(|time| time.parse().ok()),
            parts: header(headers, PARTS).and_then(Parts::parse),
        }
    }
}

/// The last message of a key.
pub(super) struct Last {
    pub(super) sequence: u64,
    pub(super) head: Head,
    pub(super) data: Vec<u8>,
}

impl Last {
    /// # Errors
    /// If it is not in base64.
    pub(super) fn of(stored: &Stored) -> Result<Self, String> {
        let decoded = |text: &str| STANDARD.decode(text).map_err(|error| error.to_string());
        let head = Head::of(&decoded(&stored.hdrs)?);
        Ok(Self { sequence: stored.seq, head, data: decoded(&stored.data)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_token_and_every_token_its_key() {
        for (text, encoded) in [
            ("tasks/0f/task/a_b-9", "tasks/0f/task/a_b-9"),
            ("a.b", "a=2Eb"),
            ("*>", "=2A=3E"),
            ("a b\r\n", "a=20b=0D=0A"),
            ("=20", "=3D20"),
            ("~", "=7E"),
        ] {
            assert_eq!(token(text), encoded);
            assert_eq!(key(encoded).as_deref(), Some(text));
        }
        for text in ["=", "=4", "a=ZZ", "=FF", "=é"] {
            assert_eq!(key(text), None, "{text}");
        }
    }

    #[test]
    fn headers_of_this_and_of_other_writers_are_read() {
        let head = Head::of(b"NATS/1.0\r\nWharf-Expires: 7\r\nWharf-Parts: 12-ab 3 9\r\n\r\n");
        let parts = Parts { name: "12-ab".into(), count: 3, size: 9 };
        assert_eq!(head, Head { is_removed: false, expires: Some(7), parts: Some(parts) });
        assert!(Head::of(b"NATS/1.0\r\nKV-Operation: PURGE\r\nNats-Rollup: sub\r\n\r\n").is_removed);
        assert_eq!(Head::of(b""), Head::default());
        assert_eq!(Head::of(b"NATS/1.0\r\nWharf-Parts: a.> 3 9\r\n\r\n").parts, None);
    }
}

//! What a component of ACT declares that it can use: the custom section `act:component`, a map in CBOR (ACT-SPEC, 3.2).
//!
//! A declaration is for people. It decides nothing.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::metadata::custom_section;

const SECTION: &str = "act:component";
/// Bytes of the section, and how deep its values are nested.
const MAX_SIZE: usize = 64 << 10;
const MAX_DEPTH: usize = 16;

#[derive(Deserialize)]
struct Section {
    std: Std,
}

#[derive(Deserialize)]
struct Std {
    #[serde(default)]
    capabilities: BTreeMap<String, Request>,
}

#[derive(Deserialize)]
struct Request {
    /// By its name in the specification, and in what its tools write.
    #[serde(default, alias = "constraints")]
    allow: Vec<Allowed>,
}

#[derive(Deserialize)]
struct Allowed {
    host: Option<String>,
    scheme: Option<String>,
    path: Option<String>,
    mode: Option<String>,
}

/// The declarations of a component, in lines: as words of `wharf grant` where there is one of that meaning (`http=URL`), and
/// otherwise as its capability and what it names. Empty without a section, or with one that cannot be read.
pub fn declared(component: &[u8]) -> Vec<String> {
    let Some(data) = custom_section(component, SECTION).filter(|data| data.len() <= MAX_SIZE) else {
        return Vec::new();
    };
    let Ok(Section { std }) = ciborium::de::from_reader_with_recursion_limit(data, MAX_DEPTH) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for (name, Request { allow }) in std.capabilities {
        if allow.is_empty() {
            lines.push(name.clone());
        }
        for Allowed { host, scheme, path, mode } in allow {
            lines.push(match (host, path) {
                (Some(host), _) if name == "wasi:http" => {
                    format!("http={}://{host}", scheme.as_deref().unwrap_or("https"))
                }
                // A path in its sandbox, for which only a person can say which folder of the machine is meant.
                (host, path) => {
                    let words = [host, path, mode].into_iter().flatten();
                    words.fold(name.clone(), |line, word| line + " " + &word)
                }
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(section: &[u8]) -> Vec<u8> {
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        // The name and its length are counted.
        let size = section.len() + SECTION.len() + 1;
        component.push(0);
        component.extend([(size & 0x7f) as u8 | 0x80, (size >> 7 & 0x7f) as u8 | 0x80, (size >> 14) as u8]);
        component.push(SECTION.len() as u8);
        component.extend(SECTION.as_bytes());
        component.extend(section);
        component
    }

    fn cbor(value: &serde_json::Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        ciborium::into_writer(value, &mut bytes).expect("it is written");
        bytes
    }

    #[test]
    fn declarations_become_lines() {
        let section = cbor(&json!({ "std": { "name": "weather", "version": "1.0.0", "capabilities": {
            "wasi:http": { "description": "asks", "allow": [{ "host": "api.example.com", "methods": ["GET"] },
                { "host": "*.example.com", "scheme": "http" }] },
            "wasi:filesystem": { "constraints": [{ "path": "/data/**", "mode": "rw" }], "params": { "mount-root": "/" } },
            "db:read": { "description": "reads" },
        } }, "other": [1, 2] }));
        let lines =
            ["db:read", "wasi:filesystem /data/** rw", "http=https://api.example.com", "http=http://*.example.com"];
        assert_eq!(declared(&with(&section)), lines);
    }

    #[test]
    fn what_is_no_declaration_declares_nothing() {
        let mut deep = vec![0x81; 100_000];
        deep.push(0);
        let long = cbor(&json!({ "std": { "capabilities": {} }, "x": "x".repeat(MAX_SIZE) }));
        // A list that claims to have 2^60 entries.
        let claimed = [&cbor(&json!("std"))[..], &[0x9b, 0x10, 0, 0, 0, 0, 0, 0, 0]].concat();
        let claimed = [&[0xa1][..], &claimed].concat();
        for section in [&b""[..], b"x", &deep[..1000], &deep, &long, &claimed, &cbor(&json!({ "std": [] }))] {
            assert_eq!(declared(&with(section)), [] as [String; 0]);
        }
        assert_eq!(declared(b"\0asm"), [] as [String; 0]);
    }
}

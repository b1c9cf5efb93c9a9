//! Inspection of a file before compilation: it terminates for any bytes, and its texts have no
//! control characters.

use wharf::plugin::{inspect, summarize};

use super::Target;

/// Components with all inspected items: imports, exports, modules, memories, nesting.
const SEEDS: &[&str] = &[
    "(component)",
    r#"(component (import "wasi:keyvalue/store@0.2.0-draft" (instance)))"#,
    r#"(component (core module (memory 1) (func) (export "f" (func 0))))"#,
    r#"(component (component (component (core module (memory 2 3)))))"#,
    r#"(component (type (func)) (import "a" (func (type 0))) (export "b" (func 0)))"#,
    r#"(component (core module (import "m" "n" (memory 1)) (func (local i64) i32.const 1 drop)))"#,
];

pub(super) fn target() -> Target {
    let mut seeds: Vec<Vec<u8>> =
        SEEDS.iter().map(|text| wat::parse_str(text).expect("a component in text form")).collect();
    seeds.push(b"\0asm\x01\0\0\0".to_vec());
    seeds.push(b"\x7fELF".to_vec());
    seeds.push(b"<!doctype html>".to_vec());
    let words =
        vec!["\0asm", "\r\0\u{1}\0", "\u{1}\0\0\0", "\u{7f}ELF", "\u{1}", "\0", "wasi:", "\u{1b}[2J", "\u{202e}"];
    Target { name: "component", seeds, words, run }
}

fn run(input: &[u8]) {
    let summary = summarize(input);
    summary.imports.iter().chain(&summary.exports).for_each(|name| plain(name));
    summary.producers.iter().for_each(|maker| [&maker.name, &maker.version].into_iter().for_each(|text| plain(text)));
    match inspect(input) {
        Ok(found) => {
            assert!(input.starts_with(b"\0asm\x0d\0\x01\0"));
            found.exports.iter().for_each(|name| plain(name));
            found.imports.iter().for_each(|import| plain(&import.name));
        }
        Err(error) => plain(&error.to_string()),
    }
}

fn plain(text: &str) {
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
